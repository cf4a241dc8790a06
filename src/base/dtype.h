// Plain element types: one element, one machine representation. How quantised values become bits is
// a QuantScheme (scheme.h).
#ifndef HEXLANE_BASE_DTYPE_H_
#define HEXLANE_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hexlane {

enum class DType : uint8_t {
#define DTYPE(Name, text, bytes) k##Name,
#include "base/dtypes.def"
#undef DTYPE
};

std::string_view DTypeName(DType dtype);                    // "f32"
std::optional<DType> DTypeFromName(std::string_view name);  // inverse of DTypeName
size_t DTypeBytes(DType dtype);                             // bytes of one element

// IEEE 754 binary16 and bfloat16 <-> binary32; to 16 bits rounds to nearest, ties to even.
float F16ToF32(uint16_t bits);
uint16_t F32ToF16(float value);
float Bf16ToF32(uint16_t bits);
uint16_t F32ToBf16(float value);

}  // namespace hexlane

#endif  // HEXLANE_BASE_DTYPE_H_
