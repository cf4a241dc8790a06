// The typed values of GGUF's key-value pairs.
#ifndef HEXLANE_FORMATS_GGUF_GGUF_VALUES_H_
#define HEXLANE_FORMATS_GGUF_GGUF_VALUES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "formats/byte_reader.h"
#include "formats/gguf/gguf_reader.h"

namespace hexlane {

enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};

// Reads one value. `array` is filled when it is an array; the result is discarded Json
// (is_discarded()) for an array longer than kMaxGgufArray. Invalid UTF-8 in strings becomes U+FFFD.
Result<Json> ReadGgufValue(ByteReader& in, uint32_t type, GgufArray* array);

// The text with U+FFFD for every byte sequence that is not UTF-8.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_GGUF_GGUF_VALUES_H_
