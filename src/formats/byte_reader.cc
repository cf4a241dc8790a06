#include "formats/byte_reader.h"

namespace hexlane {

Failure ByteReader::Bad(std::string_view what, uint64_t offset) const {
  return Corrupt("{}{}{}", subject_, subject_.empty() ? "" : ": ", what)
      .At("{}: offset {}", where_, offset);
}

Result<void> ByteReader::Need(uint64_t count, std::string_view field) const {
  if (count <= remaining()) return {};
  return Bad(fmt::format("the file ends inside the {}", field))
      .Want("{} bytes", count)
      .Got("{} bytes", remaining())
      .Remedy("The file is cut off or damaged: copy or download it again");
}

Result<std::string_view> ByteReader::ReadString(std::string_view field) {
  const uint64_t size = TRY(Read<uint64_t>(field));
  TRY(Need(size, field));
  const char* text = reinterpret_cast<const char*>(bytes_.data() + offset_);
  offset_ += size;
  return std::string_view(text, size);
}

Result<void> ByteReader::Skip(uint64_t count, std::string_view field) {
  TRY(Need(count, field));
  offset_ += count;
  return {};
}

Result<void> ByteReader::CheckCount(uint64_t count, uint64_t min_bytes,
                                    std::string_view field) const {
  if (count <= remaining() / min_bytes) return {};
  return Bad(fmt::format("the {} cannot be right", field))
      .Want("at most {}, as {} bytes follow", remaining() / min_bytes, remaining())
      .Got("{}", count);
}

}  // namespace hexlane
