#include "kernels/cpu.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace hexlane {
namespace {
constexpr Cpu kAll[] = {Cpu::kAny, Cpu::kAvx2, Cpu::kAvx512Vnni, Cpu::kDotProd, Cpu::kI8mm};

#if defined(__x86_64__)
// __builtin_cpu_supports asks the operating system's XCR0 too.
bool Detect(Cpu cpu) {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vnni");
  return cpu == Cpu::kAny || (cpu == Cpu::kAvx2 && avx2) ||
         (cpu == Cpu::kAvx512Vnni && avx2 && avx512);
}
#elif defined(__aarch64__)
// Bits of the Linux kernel's asm/hwcap.h (absent from old headers).
bool Detect(Cpu cpu) {
  const bool dot = getauxval(AT_HWCAP) & (1ul << 20);    // HWCAP_ASIMDDP
  const bool half = getauxval(AT_HWCAP) & (1ul << 10);   // HWCAP_ASIMDHP
  const bool i8mm = getauxval(AT_HWCAP2) & (1ul << 13);  // HWCAP2_I8MM
  return cpu == Cpu::kAny || (cpu == Cpu::kDotProd && dot && half) ||
         (cpu == Cpu::kI8mm && dot && half && i8mm);
}
#else
bool Detect(Cpu cpu) { return cpu == Cpu::kAny; }
#endif
}  // namespace

bool Supports(Cpu cpu) {
  static const unsigned found = [] {
    unsigned bits = 0;
    for (Cpu c : kAll) bits |= static_cast<unsigned>(Detect(c)) << static_cast<unsigned>(c);
    return bits;
  }();
  return found >> static_cast<unsigned>(cpu) & 1;
}

std::string_view CpuName(Cpu cpu) {
  switch (cpu) {
    case Cpu::kAny: return "plain";
    case Cpu::kAvx2: return "avx2";
    case Cpu::kAvx512Vnni: return "avx512vnni";
    case Cpu::kDotProd: return "dotprod";
    case Cpu::kI8mm: return "i8mm";
  }
  return "?";
}

std::string CpuFeatures() {
  std::string names;
  for (Cpu cpu : kAll)
    if (cpu != Cpu::kAny && Supports(cpu))
      names.append(names.empty() ? "" : " ").append(CpuName(cpu));
  return names;
}

}  // namespace hexlane
