#include "base/dtype.h"

#include <bit>

namespace hexlane {
namespace {
struct Row {
  std::string_view name;
  size_t bytes;
};
constexpr Row kRows[] = {
#define DTYPE(Name, text, bytes) {text, bytes},
#include "base/dtypes.def"
#undef DTYPE
};
}  // namespace

std::string_view DTypeName(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }
size_t DTypeBytes(DType dtype) { return kRows[static_cast<size_t>(dtype)].bytes; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

uint16_t F32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // rounds past 65504
  if (magnitude < 0x38800000u) {                       // subnormal half: let the FPU round at 2^-24
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;  // ulp of [0.5,1) is 2^-24
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) - 0x3f000000u);
  }
  const uint32_t odd = (magnitude >> 13) & 1;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

uint16_t F32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

}  // namespace hexlane
