// Which instruction sets this processor has, found once at run time.
#ifndef HEXLANE_KERNELS_CPU_H_
#define HEXLANE_KERNELS_CPU_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hexlane {

enum class Cpu : uint8_t {
  kAny,         // plain C++
  kAvx2,        // x86-64: AVX2, FMA, F16C
  kAvx512Vnni,  // x86-64: AVX-512 F, BW, VL, DQ, VNNI, and kAvx2
  kDotProd,     // AArch64: SDOT and float16 conversion (ARMv8.2)
  kI8mm,        // AArch64: SMMLA, and kDotProd
};

bool Supports(Cpu cpu);
std::string_view CpuName(Cpu cpu);
std::string CpuFeatures();  // names of all supported ones, "avx2 avx512vnni", for doctor and bench

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_CPU_H_
