// A checkpoint on disk, whatever its format: named tensors in mapped files, read only when asked
// for, with the metadata and the tokenizer that came along. models/ turns it into graphs.
#ifndef HEXLANE_FORMATS_CHECKPOINT_H_
#define HEXLANE_FORMATS_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantized_matrix.h"
#include "base/shape.h"
#include "formats/storage_type.h"
#include "formats/tokenizer_files.h"
#include "hexlane/status.h"

namespace hexlane {

using Json = nlohmann::json;

struct GroupedMatrix;  // formats/grouped/grouped_matrix.h

struct StoredTensor {
  std::string name;
  Shape shape;  // row-major, outermost first (the reverse of GGUF's order)
  StorageType type = StorageType::kUnknown;
  std::span<const std::byte> bytes;  // in a mapped file, aligned for nothing; empty for kUnknown
  uint64_t offset = 0;               // of `bytes` in its file
  uint32_t file = 0;                 // index into Checkpoint::files()
  int64_t type_number = -1;          // what the file itself calls the type; GGUF only
  // kGroups4, kGroups8: made of several tensors of the file, of which `bytes` are the integers'.
  std::shared_ptr<const GroupedMatrix> grouped;

  // The scheme that Checkpoint::ReadKept gives; nullopt where there is none.
  std::optional<Scheme> kept_as() const;
  // Whether ReadKept loses nothing. False also where it may lose nothing by chance.
  bool kept_exactly() const;
  // Whether the columns are grouped in an order of their own (GPTQ's act-order).
  bool reordered() const;
  uint64_t stored_bytes() const;  // of all its parts
};

// Reads rows [first, first + out.size() / k) of one matrix [n, k].
using RowReader = std::function<Result<void>(int64_t first, std::span<float> out)>;

struct CheckpointParts;  // formats/format.h

// Immutable once open; safe to share between threads. Tensors and spans live as long as the
// checkpoint.
class Checkpoint {
 public:
  // A Hugging Face folder (config.json + *.safetensors) or a .gguf file; formats.def lists what is
  // recognised. kNotFound, kCorrupt (file, field, offset), kUnsupported (says what is handled and
  // what to do).
  static Result<std::unique_ptr<Checkpoint>> Open(const std::filesystem::path& path);
  explicit Checkpoint(CheckpointParts parts);
  ~Checkpoint();

  std::string_view format() const;   // "gguf" or "huggingface"
  const std::string& where() const;  // the path, for error messages

  std::span<const StoredTensor> tensors() const;          // in file order
  const StoredTensor* Find(std::string_view name) const;  // nullptr when absent

  // Hugging Face: config.json. GGUF: every key-value pair, by its key; arrays longer than 1024 are
  // left out.
  const Json& config() const;
  // Hugging Face: generation_config.json, or {}. GGUF: bos_token_id, eos_token_id (a number, or an
  // array when there are several), pad_token_id, as far as the file has them.
  const Json& generation_config() const;
  // Hugging Face: the texts of the files. GGUF: made from the metadata (TokenizerFromGguf).
  Result<TokenizerFiles> tokenizer_files() const;
  std::vector<std::filesystem::path> files() const;  // every file read, for hashing
  // Lets the system take back the memory of tensors read so far (base/file.h).
  void DropPages() const;

  // Rows [first_row, first_row + rows) of the tensor seen as [elements / last, last], decoded to
  // float32 into `out` (rows * last values). kUnsupported when the type has no decoder; the error
  // names tensor and type.
  Result<void> ReadRows(const StoredTensor& tensor, int64_t first_row, int64_t rows,
                        std::span<float> out) const;
  // The whole tensor as float32.
  Result<std::vector<float>> ReadFloats(const StoredTensor& tensor) const;
  // A matrix [n, k] whose stored integers Hexlane can keep as they are. Scales and minimums become
  // float16 values: exact for
  //   Q4_0                kW4Block32
  //   Q4_1                kW4Affine32
  //   Q5_0, Q8_0          kW8Block32
  // and rounded, by at most 2^-11 of each, for
  //   Q4_K                kW4Affine32, d·s and -dmin·m
  //   groups              GroupedMatrix::kept_as
  // nullopt for every other, and where float16 cannot hold a scale or minimum.
  std::optional<QuantizedMatrix> ReadKept(const StoredTensor& tensor) const;

 private:
  std::unique_ptr<const CheckpointParts> parts_;
};

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_CHECKPOINT_H_
