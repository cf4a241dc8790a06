// GGUF versions 2 and 3, as bytes: header, key-value pairs, tensor table.
//   "GGUF", u32 version, u64 tensors, u64 pairs
//   pair:    string key, u32 type, value                       string: u64 length, UTF-8 bytes
//   tensor:  string name, u32 rank, u64 dims[rank] (innermost first), u32 GGML type, u64 offset
//   into the data data:    at the next multiple of general.alignment (32 when absent), tensors at
//   multiples of it
// Specification: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#ifndef HEXLANE_FORMATS_GGUF_GGUF_READER_H_
#define HEXLANE_FORMATS_GGUF_GGUF_READER_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint.h"
#include "formats/gguf/gguf_tokenizer.h"

namespace hexlane {

// Longer arrays (vocabularies) stay in the file.
inline constexpr uint64_t kMaxGgufArray = 1024;

struct GgufArray {
  uint32_t type = 0;  // of the elements, a GGUF value type
  uint64_t count = 0;
  uint64_t offset = 0;  // of the first element in the file
};

struct GgufFile {
  uint32_t version = 0;
  uint64_t alignment = 32;
  uint64_t data_offset = 0;
  Json metadata = Json::object();  // key -> value; arrays of at most kMaxGgufArray elements
  std::map<std::string, GgufArray> arrays;  // every array by its key, short or long
  std::map<std::string, uint64_t> offsets;  // where each pair starts in the file
  std::vector<StoredTensor> tensors;        // bytes are views into the input
};

std::string_view GgufTypeName(uint32_t type);  // "u32", "string"; "unknown"

// `where` names the file in errors. kCorrupt; kUnsupported for version 1, big-endian and split
// files.
Result<GgufFile> ReadGguf(std::span<const std::byte> bytes, std::string_view where);

// The tokenizer.* keys, `bytes` being those given to ReadGguf. kNotFound when the file has no
// vocabulary.
Result<GgufVocabulary> ReadGgufVocabulary(const GgufFile& file, std::span<const std::byte> bytes,
                                          std::string_view where);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_GGUF_GGUF_READER_H_
