#include "formats/safetensors/safetensors_reader.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/json.h"

namespace hexlane {
namespace {

constexpr uint64_t kPrefix = 8;               // bytes of the header's length
constexpr uint64_t kMaxHeader = 100'000'000;  // the library's limit
constexpr std::string_view kMetadata = "__metadata__";

class SafetensorsParser {
 public:
  SafetensorsParser(std::span<const std::byte> bytes, std::string_view where)
      : bytes_(bytes), where_(where) {}

  Result<SafetensorsFile> Run() {
    TRY(FindHeader());
    const Json header = TRY(ParseHeader());
    for (const auto& [name, value] : header.items())
      TRY(name == kMetadata ? ReadMetadata(value) : ReadTensor(name, value));
    TRY(PlaceTensors());
    return std::move(file_);
  }

 private:
  Result<void> FindHeader();
  Result<Json> ParseHeader() const;
  Result<void> ReadMetadata(const Json& value);
  Result<void> ReadTensor(const std::string& name, const Json& value);
  Result<Shape> ReadShape(const std::string& name, const Json& value) const;
  Result<uint64_t> DataSize(const StoredTensor& tensor) const;
  Result<void> PlaceTensors();
  Failure BadTensor(std::string_view name, std::string_view what) const;

  std::span<const std::byte> bytes_;
  std::string where_;
  std::string_view header_;
  struct Range {
    uint64_t begin, end;  // in the data
    StoredTensor tensor;
  };
  std::vector<Range> ranges_;
  SafetensorsFile file_;
};

// Points at the tensor's entry: its name is in the header as it is, unless written with escapes.
Failure SafetensorsParser::BadTensor(std::string_view name, std::string_view what) const {
  const size_t at = header_.find(fmt::format("\"{}\"", name));
  return Corrupt("tensor '{}': {}", name, what)
      .At("{}: offset {}", where_, kPrefix + (at == header_.npos ? 0 : at));
}

Result<void> SafetensorsParser::FindHeader() {
  if (bytes_.size() < kPrefix) {
    return Corrupt("the file ends inside the header's length")
        .At("{}: offset 0", where_)
        .Want("{} bytes", kPrefix)
        .Got("{} bytes", bytes_.size())
        .Remedy("The file is cut off or damaged: copy or download it again");
  }
  uint64_t size = 0;
  std::memcpy(&size, bytes_.data(), kPrefix);
  const uint64_t limit = std::min(kMaxHeader, bytes_.size() - kPrefix);
  if (size > limit) {
    return Corrupt("the header's length cannot be right")
        .At("{}: offset 0", where_)
        .Want("at most {} bytes", limit)
        .Got("{}", size)
        .Remedy("The file is cut off, damaged or not safetensors: copy or download it again");
  }
  header_ = {reinterpret_cast<const char*>(bytes_.data()) + kPrefix, size};
  return {};
}

// The first name that is there twice in the header's object, or in an object directly in it.
std::optional<std::string> RepeatedName(std::string_view header) {
  std::unordered_set<std::string> names[2];  // by depth
  std::optional<std::string> repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& key) {
    if (event == Json::parse_event_t::object_start && depth == 1) names[1].clear();
    if (event == Json::parse_event_t::key && depth <= 2)
      if (const auto& name = key.get_ref<const std::string&>();
          !names[depth - 1].insert(name).second && !repeated)
        repeated = name;
    return depth < 1 || event != Json::parse_event_t::object_end;  // keeps nothing
  };
  const Json ignored = Json::parse(header, watch, false);
  return repeated;
}

Result<Json> SafetensorsParser::ParseHeader() const {
  const size_t start = header_.find_first_not_of(" \t\r\n");
  if (start == header_.npos || header_[start] != '{') {
    return Corrupt("the header is not a JSON object")
        .At("{}: offset {}", where_, kPrefix)
        .Want("'{{'")
        .Got("{}", start == header_.npos ? "nothing" : "another byte");
  }
  const std::string where = fmt::format("{} (header, from offset {})", where_, kPrefix);
  Json header = TRY(ParseJson(header_, where));
  if (const auto name = RepeatedName(header_)) return BadTensor(*name, "the name is there twice");
  return header;
}

Result<void> SafetensorsParser::ReadMetadata(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_object()) return BadTensor(kMetadata, "not an object of strings");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return BadTensor(kMetadata, fmt::format("'{}' is not a string", key));
    file_.metadata[key] = text.get<std::string>();
  }
  return {};
}

Result<void> SafetensorsParser::ReadTensor(const std::string& name, const Json& value) {
  const auto unsigned_at = [](const Json& array, size_t i) {
    return array[i].is_number_unsigned();
  };
  if (!value.is_object()) return BadTensor(name, "not an object");
  const Json dtype = value.value("dtype", Json());
  const Json offsets = value.value("data_offsets", Json());
  Range range;
  range.tensor.name = name;
  range.tensor.shape = TRY(ReadShape(name, value));
  if (!dtype.is_string())
    return BadTensor(name, "bad 'dtype'").Want("a string").Got("{}", dtype.dump());
  const auto type = StorageFromName(dtype.get_ref<const std::string&>());
  if (!type || Info(*type).block_elements > 4)
    return BadTensor(name, "unknown 'dtype'").Want("F32, F16, BF16 …").Got("{}", dtype.dump());
  range.tensor.type = *type;
  if (!offsets.is_array() || offsets.size() != 2 || !unsigned_at(offsets, 0) ||
      !unsigned_at(offsets, 1))
    return BadTensor(name, "bad 'data_offsets'").Want("[begin, end]").Got("{}", offsets.dump());
  range.begin = offsets[0].get<uint64_t>();
  range.end = offsets[1].get<uint64_t>();
  ranges_.push_back(std::move(range));
  return {};
}

Result<Shape> SafetensorsParser::ReadShape(const std::string& name, const Json& value) const {
  const Json shape = value.value("shape", Json());
  const auto bad = [&](std::string_view what) {
    return BadTensor(name, what).Got("{}", shape.dump());
  };
  if (!shape.is_array()) return bad("bad 'shape'").Want("an array");
  std::vector<int64_t> dims;
  for (const Json& dim : shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > uint64_t{INT64_MAX})
      return bad("bad 'shape'").Want("sizes");
    dims.push_back(static_cast<int64_t>(dim.get<uint64_t>()));
  }
  if (dims.size() > Shape::kMaxRank) {
    return Unsupported("tensor '{}' has {} dimensions", name, dims.size())
        .At("{}", where_)
        .Want("at most {}", Shape::kMaxRank);
  }
  if (!CheckedElements(dims)) return bad("the product of the dimensions overflows");
  return Shape(dims);
}

// Bytes that the shape and the type need.
Result<uint64_t> SafetensorsParser::DataSize(const StoredTensor& tensor) const {
  const StorageInfo& info = Info(tensor.type);
  const uint64_t elements = static_cast<uint64_t>(tensor.shape.elements());
  if (elements % info.block_elements != 0)
    return BadTensor(tensor.name, "the elements do not fill whole bytes").Got("{}", tensor.shape);
  uint64_t size = 0;
  if (__builtin_mul_overflow(elements / info.block_elements, uint64_t(info.block_bytes), &size))
    return BadTensor(tensor.name, "the size overflows").Got("{}", tensor.shape);
  return size;
}

Result<void> SafetensorsParser::PlaceTensors() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  const uint64_t data = kPrefix + header_.size();
  uint64_t position = 0;
  for (Range& range : ranges_) {
    StoredTensor& tensor = range.tensor;
    const uint64_t size = TRY(DataSize(tensor));
    if (range.begin != position || range.end < range.begin) {
      return BadTensor(tensor.name, "'data_offsets' leave a hole or overlap")
          .Want("a begin of {}", position)
          .Got("[{}, {}]", range.begin, range.end);
    }
    if (range.end - range.begin != size) {
      return BadTensor(tensor.name, "'data_offsets' do not fit the shape and dtype")
          .Want("{} bytes for {} {}", size, Info(tensor.type).name, tensor.shape)
          .Got("{} bytes", range.end - range.begin);
    }
    if (range.end > bytes_.size() - data) {
      return BadTensor(tensor.name, "the data passes the end of the file")
          .Want("{} bytes from offset {}", size, data + range.begin)
          .Got("a file of {} bytes", bytes_.size())
          .Remedy("The file is cut off or damaged: copy or download it again");
    }
    tensor.offset = data + range.begin;
    tensor.bytes = bytes_.subspan(tensor.offset, size);
    position = range.end;
    file_.tensors.push_back(std::move(tensor));
  }
  if (position == bytes_.size() - data) return {};
  return Corrupt("bytes after the last tensor")
      .At("{}: offset {}", where_, data + position)
      .Want("a file of {} bytes", data + position)
      .Got("{} bytes", bytes_.size());
}

}  // namespace

Result<SafetensorsFile> ReadSafetensors(std::span<const std::byte> bytes, std::string_view where) {
  return SafetensorsParser(bytes, where).Run();
}

}  // namespace hexlane
