// A cursor over the little-endian bytes of a file that nobody vouches for. Every read is checked;
// errors name the file, what was being read and the byte offset.
#ifndef HEXLANE_FORMATS_BYTE_READER_H_
#define HEXLANE_FORMATS_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view where)
      : bytes_(bytes), where_(where) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  // Names what is being read, in later errors: "tensor 3".
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  template <typename T>
  Result<T> Read(std::string_view field) {
    T value{};
    TRY(Need(sizeof(T), field));
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  // A 64-bit length, then that many bytes. The view lives as long as the bytes.
  Result<std::string_view> ReadString(std::string_view field);
  Result<void> Skip(uint64_t count, std::string_view field);
  // `count` things of at least `min_bytes` each follow: kCorrupt unless the file is long enough for
  // that.
  Result<void> CheckCount(uint64_t count, uint64_t min_bytes, std::string_view field) const;

  // kCorrupt "<subject>: <what>" at the file and `offset`.
  Failure Bad(std::string_view what, uint64_t offset) const;
  Failure Bad(std::string_view what) const { return Bad(what, offset_); }

 private:
  Result<void> Need(uint64_t count, std::string_view field) const;

  std::span<const std::byte> bytes_;
  std::string where_;
  std::string subject_;
  uint64_t offset_ = 0;
};

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_BYTE_READER_H_
