#include "formats/checkpoint.h"

#include "base/file.h"
#include "base/finite.h"
#include "formats/decode/decode.h"
#include "formats/format.h"
#include "formats/grouped/grouped_matrix.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

struct Format {
  bool (*probe)(const fs::path&);
  Result<CheckpointParts> (*open)(const fs::path&);
  std::string_view handled;
};
constexpr Format kFormats[] = {
#define FORMAT(Name, handled) {Probe##Name, Open##Name, handled},
#include "formats/formats.def"
#undef FORMAT
};

// The start of a message for a path that no format wants.
Failure Unrecognised(const fs::path& path) {
  std::string handled;
  for (const Format& format : kFormats)
    handled.append(handled.empty() ? "" : ", or ").append(format.handled);
  Failure failure = Unsupported("'{}' is not a checkpoint that Hexlane can read", path.string());
  (void)std::move(failure).Want("{}", handled);
  if (path.extension() == ".safetensors")
    return std::move(failure).Remedy("Give the folder that holds it, with config.json beside it");
  return std::move(failure).Remedy("Give the file or the folder itself");
}

std::string Place(const CheckpointParts& parts, const StoredTensor& tensor) {
  const bool known = tensor.file < parts.files.size();
  return fmt::format("{}: tensor '{}', offset {}",
                     known ? parts.files[tensor.file].string() : parts.where, tensor.name,
                     tensor.offset);
}

}  // namespace

std::optional<Scheme> StoredTensor::kept_as() const {
  if (grouped) return grouped->kept_as();
  const BlockKeeper* keeper = KeeperFor(type);
  return keeper && shape.rank() == 2 ? std::optional(keeper->scheme) : std::nullopt;
}

bool StoredTensor::kept_exactly() const {
  const BlockKeeper* keeper = KeeperFor(type);
  return !grouped && keeper && keeper->exact && shape.rank() == 2;
}

bool StoredTensor::reordered() const { return grouped && !grouped->group_of.empty(); }

uint64_t StoredTensor::stored_bytes() const {
  return bytes.size() + (grouped ? grouped->side_bytes : 0);
}

Result<std::unique_ptr<Checkpoint>> Checkpoint::Open(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return NotFound("there is no '{}'", path.string()).Remedy("Check the path");
  for (const Format& format : kFormats)
    if (format.probe(path)) return std::make_unique<Checkpoint>(TRY(format.open(path)));
  return Unrecognised(path);
}

Checkpoint::Checkpoint(CheckpointParts parts) {
  for (size_t i = 0; i < parts.tensors.size(); ++i) parts.by_name[parts.tensors[i].name] = i;
  parts_ = std::make_unique<CheckpointParts>(std::move(parts));
}
Checkpoint::~Checkpoint() = default;

std::string_view Checkpoint::format() const { return parts_->format; }
const std::string& Checkpoint::where() const { return parts_->where; }
std::span<const StoredTensor> Checkpoint::tensors() const { return parts_->tensors; }
const Json& Checkpoint::config() const { return parts_->config; }
const Json& Checkpoint::generation_config() const { return parts_->generation_config; }
std::vector<fs::path> Checkpoint::files() const { return parts_->files; }

void Checkpoint::DropPages() const {
  for (const StoredTensor& tensor : parts_->tensors) hexlane::DropPages(tensor.bytes);
}

const StoredTensor* Checkpoint::Find(std::string_view name) const {
  const auto it = parts_->by_name.find(name);
  return it == parts_->by_name.end() ? nullptr : &parts_->tensors[it->second];
}

Result<TokenizerFiles> Checkpoint::tokenizer_files() const { return parts_->tokenizer(); }

Result<void> Checkpoint::ReadRows(const StoredTensor& tensor, int64_t first_row, int64_t rows,
                                  std::span<float> out) const {
  const int64_t columns = tensor.shape.last();
  if (first_row < 0 || rows < 0 || rows > tensor.shape.rows() - first_row) {
    return InvalidInput("rows outside the tensor")
        .At("{}", Place(*parts_, tensor))
        .Want("rows of 0..{}", tensor.shape.rows())
        .Got("{}..{}", first_row, first_row + rows);
  }
  CHECK(static_cast<int64_t>(out.size()) == rows * columns);
  if (tensor.grouped) {
    tensor.grouped->DequantizeRows(first_row, rows, out.data());
    return {};
  }
  const BlockDecoder decode = DecoderFor(tensor.type);
  const StorageInfo& info = Info(tensor.type);
  if (decode == nullptr) {
    Failure failure = Unsupported("tensor '{}' is stored as {}, which has no decoder", tensor.name,
                                  tensor.type == StorageType::kUnknown
                                      ? fmt::format("GGML type {}", tensor.type_number)
                                      : std::string(info.name));
    return std::move(failure)
        .At("{}", Place(*parts_, tensor))
        .Want("one of {}", DecodableTypes())
        .Remedy("Use a checkpoint stored in one of these types, for instance F16, BF16 or Q8_0");
  }
  const int64_t blocks_per_row = columns / info.block_elements;
  decode(tensor.bytes.data() + first_row * blocks_per_row * info.block_bytes, rows * blocks_per_row,
         out.data());
  return {};
}

Result<std::vector<float>> Checkpoint::ReadFloats(const StoredTensor& tensor) const {
  std::vector<float> values;
  if (tensor.grouped || DecoderFor(tensor.type) != nullptr)
    values.resize(static_cast<size_t>(tensor.shape.elements()));
  TRY(ReadRows(tensor, 0, values.empty() ? 0 : tensor.shape.rows(), values));
  return values;
}

std::optional<QuantizedMatrix> Checkpoint::ReadKept(const StoredTensor& tensor) const {
  const std::optional<Scheme> scheme = tensor.kept_as();
  if (!scheme) return std::nullopt;
  QuantizedMatrix matrix = tensor.grouped ? tensor.grouped->Keep(*scheme) : KeepBlocks(tensor);
  if (!AllFinite(matrix.scales) || !AllFinite(matrix.mins)) return std::nullopt;
  return matrix;
}

}  // namespace hexlane
