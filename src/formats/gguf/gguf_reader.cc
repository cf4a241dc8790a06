#include "formats/gguf/gguf_reader.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "formats/byte_reader.h"
#include "formats/gguf/gguf_values.h"

namespace hexlane {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kMaxRank = 4;         // GGML_MAX_DIMS
constexpr uint64_t kMaxName = 65535;     // the specification's limit for keys; names are shorter
constexpr uint64_t kMaxAlignment = 1 << 20;
constexpr uint64_t kMinPairBytes = 8 + 4 + 1;        // empty key, type, one byte
constexpr uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;  // empty name, rank 0, type, offset

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, std::string_view where)
      : bytes_(bytes), where_(where), in_(bytes, where) {}

  Result<GgufFile> Run() {
    TRY(ReadHeader());
    TRY(ReadPairs());
    TRY(ReadTensors());
    TRY(PlaceTensors());
    return std::move(file_);
  }

 private:
  Result<void> ReadHeader();
  Result<void> CheckVersion();
  Result<void> ReadPairs();
  Result<void> ReadPair();
  Result<void> CheckSplit(const Json& count, uint64_t offset) const;
  Result<void> SetAlignment(const Json& value, uint64_t offset);
  Result<void> ReadTensors();
  Result<StoredTensor> ReadTensor();
  Result<Shape> ReadShape();
  Result<std::string_view> ReadName(std::string_view field);
  Result<void> PlaceTensors();
  Result<void> PlaceTensor(StoredTensor& tensor, uint64_t table_offset);
  Result<void> CheckOverlap();

  std::span<const std::byte> bytes_;
  std::string where_;
  ByteReader in_;
  uint64_t tensor_count_ = 0;
  uint64_t pair_count_ = 0;
  std::vector<uint64_t> table_offsets_;  // where each tensor's entry starts, for messages
  std::unordered_set<std::string_view> names_;
  GgufFile file_;
};

Result<void> GgufParser::ReadHeader() {
  in_.set_subject("header");
  const uint32_t magic = TRY(in_.Read<uint32_t>("magic"));
  if (magic != kMagic)
    return in_.Bad("this is not a GGUF file", 0).Want("magic 'GGUF'").Got("{:#010x}", magic);
  file_.version = TRY(in_.Read<uint32_t>("version"));
  TRY(CheckVersion());
  tensor_count_ = TRY(in_.Read<uint64_t>("tensor count"));
  pair_count_ = TRY(in_.Read<uint64_t>("key-value count"));
  TRY(in_.CheckCount(tensor_count_, kMinTensorBytes, "tensor count"));
  return in_.CheckCount(pair_count_, kMinPairBytes, "key-value count");
}

Result<void> GgufParser::CheckVersion() {
  const uint32_t version = file_.version;
  if (version == 2 || version == 3) return {};
  const bool swapped = version != 0 && (version & 0xffff) == 0;
  Failure failure = swapped ? Unsupported("this GGUF file is big-endian")
                            : Unsupported("GGUF version {} is not handled", version);
  return std::move(failure)
      .At("{}: offset 4", where_)
      .Want("version 2 or 3, little-endian")
      .Got("{}", swapped ? fmt::format("{:#010x}", version) : std::to_string(version))
      .Remedy("Convert the model again with a current llama.cpp{}",
              swapped ? " (gguf_convert_endian.py little)" : "");
}

// A key or name: unique text.
Result<std::string_view> GgufParser::ReadName(std::string_view field) {
  const uint64_t start = in_.offset();
  const std::string_view name = TRY(in_.ReadString(field));
  if (name.size() > kMaxName)
    return in_.Bad(fmt::format("the {} is too long", field), start)
        .Want("at most {} bytes", kMaxName)
        .Got("{}", name.size());
  const std::string clean = ReplaceInvalidUtf8(name);
  if (clean != name)
    return in_.Bad(fmt::format("the {} is not UTF-8", field), start).Got("'{}'", clean);
  if (!names_.insert(name).second)
    return in_.Bad(fmt::format("the {} '{}' is there twice", field, name), start);
  return name;
}

Result<void> GgufParser::ReadPairs() {
  for (uint64_t i = 0; i < pair_count_; ++i) {
    in_.set_subject(fmt::format("key-value pair {} of {}", i, pair_count_));
    TRY(ReadPair());
  }
  return {};
}

Result<void> GgufParser::ReadPair() {
  const uint64_t start = in_.offset();
  const std::string key(TRY(ReadName("key")));
  in_.set_subject(fmt::format("key '{}'", key));
  const uint32_t type = TRY(in_.Read<uint32_t>("value type"));
  GgufArray array;
  Json value = TRY(ReadGgufValue(in_, type, &array));
  if (key == "general.alignment") TRY(SetAlignment(value, start));
  if (key == "split.count") TRY(CheckSplit(value, start));
  file_.offsets[key] = start;
  if (static_cast<GgufType>(type) == GgufType::kArray) file_.arrays[key] = array;
  if (!value.is_discarded()) file_.metadata[key] = std::move(value);
  return {};
}

Result<void> GgufParser::CheckSplit(const Json& count, uint64_t offset) const {
  if (!count.is_number_integer() || count.get<int64_t>() <= 1) return {};
  return Unsupported("this GGUF file is one part of a split model")
      .At("{}: key 'split.count', offset {}", where_, offset)
      .Want("one file")
      .Got("{} parts", count.get<int64_t>())
      .Remedy("Join the parts: llama-gguf-split --merge <first part> <output>");
}

Result<void> GgufParser::SetAlignment(const Json& value, uint64_t offset) {
  const uint64_t alignment = value.is_number_unsigned() ? value.get<uint64_t>() : 0;
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
    return in_.Bad("bad alignment", offset)
        .Want("a power of two up to {}", kMaxAlignment)
        .Got("{}", value.is_discarded() ? "a long array" : value.dump());
  }
  file_.alignment = alignment;
  return {};
}

Result<void> GgufParser::ReadTensors() {
  names_.clear();
  TRY(in_.CheckCount(tensor_count_, kMinTensorBytes, "tensor count"));
  file_.tensors.reserve(tensor_count_);
  for (uint64_t i = 0; i < tensor_count_; ++i) {
    in_.set_subject(fmt::format("tensor {} of {}", i, tensor_count_));
    table_offsets_.push_back(in_.offset());
    file_.tensors.push_back(TRY(ReadTensor()));
  }
  return {};
}

Result<StoredTensor> GgufParser::ReadTensor() {
  StoredTensor tensor;
  tensor.name = TRY(ReadName("name"));
  in_.set_subject(fmt::format("tensor '{}'", tensor.name));
  tensor.shape = TRY(ReadShape());
  const uint32_t type = TRY(in_.Read<uint32_t>("type"));
  tensor.type = StorageFromGgml(type);
  tensor.type_number = type;
  tensor.offset = TRY(in_.Read<uint64_t>("offset"));  // into the data, until PlaceTensor
  const int block = Info(tensor.type).block_elements;
  if (tensor.shape.last() % block != 0) {
    return in_.Bad("the innermost dimension does not fit the type", table_offsets_.back())
        .Want("a multiple of {} for {}", block, Info(tensor.type).name)
        .Got("{}", tensor.shape);
  }
  return tensor;
}

Result<Shape> GgufParser::ReadShape() {
  const uint64_t start = in_.offset();
  const uint32_t rank = TRY(in_.Read<uint32_t>("rank"));
  if (rank > kMaxRank) return in_.Bad("bad rank", start).Want("0..{}", kMaxRank).Got("{}", rank);
  std::vector<int64_t> dims(rank);
  for (uint32_t i = 0; i < rank; ++i) {
    const uint64_t dim = TRY(in_.Read<uint64_t>("dimensions"));
    if (dim > uint64_t{std::numeric_limits<int64_t>::max()})
      return in_.Bad("bad dimension", in_.offset() - 8).Want("at most 2^63 - 1").Got("{}", dim);
    dims[rank - 1 - i] = static_cast<int64_t>(dim);
  }
  const Result<int64_t> elements = CheckedElements(dims);
  if (!elements)
    return in_.Bad("the product of the dimensions overflows", start)
        .Got("[{}]", fmt::join(dims, ", "));
  return Shape(dims);
}

Result<void> GgufParser::PlaceTensors() {
  const uint64_t mask = file_.alignment - 1;
  file_.data_offset = (in_.offset() + mask) & ~mask;  // the offset is far below 2^63
  for (size_t i = 0; i < file_.tensors.size(); ++i)
    TRY(PlaceTensor(file_.tensors[i], table_offsets_[i]));
  return CheckOverlap();
}

Result<void> GgufParser::PlaceTensor(StoredTensor& tensor, uint64_t table_offset) {
  in_.set_subject(fmt::format("tensor '{}'", tensor.name));
  const StorageInfo& info = Info(tensor.type);
  const uint64_t blocks = static_cast<uint64_t>(tensor.shape.elements()) / info.block_elements;
  const uint64_t data = bytes_.size() - std::min<uint64_t>(bytes_.size(), file_.data_offset);
  if (tensor.offset % file_.alignment != 0) {
    return in_.Bad("the data offset is not aligned", table_offset)
        .Want("a multiple of {}", file_.alignment)
        .Got("{}", tensor.offset);
  }
  const uint64_t space = data - std::min(data, tensor.offset);
  if (tensor.offset > data || (info.block_bytes > 0 && blocks > space / info.block_bytes)) {
    return in_.Bad("the data passes the end of the file", table_offset)
        .Want("{} {} blocks of {} bytes at {}", blocks, info.name, info.block_bytes,
              file_.data_offset + std::min(tensor.offset, ~uint64_t{0} - file_.data_offset))
        .Got("a file of {} bytes", bytes_.size())
        .Remedy("The file is cut off or damaged: copy or download it again");
  }
  tensor.offset += file_.data_offset;
  if (const uint64_t size = blocks * info.block_bytes; size > 0)
    tensor.bytes = bytes_.subspan(tensor.offset, size);
  return {};
}

Result<void> GgufParser::CheckOverlap() {
  std::vector<size_t> order(file_.tensors.size());
  std::iota(order.begin(), order.end(), 0);
  const auto offset = [&](size_t i) { return file_.tensors[i].offset; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return offset(a) < offset(b); });
  const StoredTensor* before = nullptr;  // the last tensor that has bytes
  for (const size_t i : order) {
    const StoredTensor& tensor = file_.tensors[i];
    if (tensor.bytes.empty()) continue;
    if (before != nullptr && tensor.offset - before->offset < before->bytes.size()) {
      return in_.Bad(fmt::format("tensors '{}' and '{}' overlap", before->name, tensor.name),
                     tensor.offset);
    }
    before = &tensor;
  }
  return {};
}

}  // namespace

Result<GgufFile> ReadGguf(std::span<const std::byte> bytes, std::string_view where) {
  return GgufParser(bytes, where).Run();
}

}  // namespace hexlane
