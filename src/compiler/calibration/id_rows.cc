#include "compiler/calibration/id_rows.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>

#include "base/file.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

using Bytes = std::span<const std::byte>;
constexpr std::string_view kWanted = "int32 or int64, little-endian, [tokens] or [rows, tokens]";

template <typename T>
T Read(Bytes bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::vector<int64_t> Numbers(Bytes bytes, bool wide) {
  std::vector<int64_t> ids(bytes.size() / (wide ? sizeof(int64_t) : sizeof(int32_t)));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = wide ? Read<int64_t>(bytes, i) : Read<int32_t>(bytes, i);
  return ids;
}

// The dictionary in front of the elements, and these.
struct Npy {
  std::string_view header;
  Bytes elements;
};

Result<Npy> Split(Bytes bytes, const fs::path& path) {
  constexpr std::string_view kMagic("\x93NUMPY", 6);
  constexpr size_t kVersionAt = 6, kLengthAt = 8;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < kLengthAt + sizeof(uint32_t))
    return Corrupt("'{}' is not a .npy file", path.string()).Want("a file that numpy.save wrote");
  const bool is_first = text[kVersionAt] == 1;
  const size_t begin = kLengthAt + (is_first ? sizeof(uint16_t) : sizeof(uint32_t));
  const size_t length = is_first ? Read<uint16_t>(bytes.subspan(kLengthAt), 0)
                                 : Read<uint32_t>(bytes.subspan(kLengthAt), 0);
  if (length > text.size() - begin)
    return Corrupt("'{}' is cut off within its header", path.string()).Got("{} bytes", text.size());
  return Npy{text.substr(begin, length), bytes.subspan(begin + length)};
}

// What follows 'key': in the header, up to `end`; empty where it is not there.
std::string_view Field(std::string_view header, std::string_view key, char end) {
  size_t at = header.find(fmt::format("'{}':", key));
  if (at == header.npos) return {};
  at = header.find_first_not_of(' ', at + key.size() + 3);
  return at == header.npos ? std::string_view() : header.substr(at, header.find(end, at) - at);
}

// "(3, 4" or "(3," to numbers; empty where it is neither.
std::vector<uint64_t> Dims(std::string_view text) {
  std::vector<uint64_t> dims;
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of("(, "), text.size()));
    if (text.empty()) break;
    uint64_t dim = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (parsed.ec != std::errc()) return {};
    dims.push_back(dim);
    text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  }
  return dims;
}

}  // namespace

Result<IdRows> ReadNpyIds(const fs::path& path) {
  const auto file = TRY(MappedFile::Open(path));
  const Npy npy = TRY(Split(file->bytes(), path));
  const std::string_view type = Field(npy.header, "descr", ',');
  const bool wide = type == "'<i8'";
  const std::vector<uint64_t> dims = Dims(Field(npy.header, "shape", ')'));
  const bool fits = (wide || type == "'<i4'") && (dims.size() == 1 || dims.size() == 2) &&
                    (Field(npy.header, "fortran_order", ',') == "False" || dims.size() == 1);
  if (!fits) {
    return InvalidInput("an array that is not of token ids")
        .At("{}", path.string())
        .Want("{}, in C order", kWanted)
        .Got("{}", npy.header.substr(0, npy.header.find('}') + 1))
        .Remedy("Save numpy.ascontiguousarray(ids, dtype='<i4')");
  }
  const uint64_t rows = dims.size() == 2 ? dims[0] : 1, tokens = dims.back();
  const size_t count = npy.elements.size() / (wide ? sizeof(int64_t) : sizeof(int32_t));
  if (tokens != 0 && (rows > count / tokens || rows * tokens != count))
    return Corrupt("'{}' has not as many elements as its header says", path.string())
        .Want("{} x {}", rows, tokens)
        .Got("{}", count);
  IdRows all;
  const size_t row_bytes = rows > 0 && tokens > 0 ? npy.elements.size() / rows : 0;
  for (uint64_t row = 0; row < rows && row_bytes > 0; ++row)
    all.push_back(Numbers(npy.elements.subspan(row * row_bytes, row_bytes), wide));
  return all;
}

Result<IdRows> ReadRawIds(const fs::path& path) {
  const auto file = TRY(MappedFile::Open(path));
  const Bytes bytes = file->bytes();
  if (bytes.empty() || bytes.size() % sizeof(int32_t) != 0) {
    return InvalidInput("a raw tensor that is not of token ids")
        .At("{}", path.string())
        .Want("int32 or int64, little-endian")
        .Got("{} bytes", bytes.size());
  }
  std::vector<int64_t> wide;
  if (bytes.size() % sizeof(int64_t) == 0) wide = Numbers(bytes, true);
  const auto is_small = [](int64_t id) { return id >= 0 && id <= UINT32_MAX; };
  const bool is_wide = !wide.empty() && std::ranges::all_of(wide, is_small);
  return IdRows{is_wide ? std::move(wide) : Numbers(bytes, false)};
}

}  // namespace hexlane
