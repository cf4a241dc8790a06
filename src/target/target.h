// One SoC as data. What its HTP can hold follows from the architecture.
#ifndef HEXLANE_TARGET_TARGET_H_
#define HEXLANE_TARGET_TARGET_H_

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

enum class HtpArch { kV68 = 68, kV69 = 69, kV73 = 73, kV75 = 75, kV79 = 79, kV81 = 81 };

struct Target {
  std::string_view name;  // "SM8650"
  int soc_id = 0;         // QNN's SoC model number
  HtpArch arch = HtpArch::kV75;
  std::string_view market_name;
  int vtcm_mib = 0;
  std::array<int, 3> kernel_ids = {};  // of the kernel's soc_id; 0: none

  // What one context binary may have: the DSP maps a context into 32 bits of address space together
  // with its buffers (docs/targets.md).
  static constexpr size_t kMaxBinaryBytes = 1'900'000'000;

  // 16-bit × 16-bit MatMul, which a 16-bit KV cache needs.
  bool has_u16_matmul() const { return arch >= HtpArch::kV73; }
};

std::span<const Target> AllTargets();
// kUsage lists the known names.
Result<const Target*> FindTarget(std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_TARGET_TARGET_H_
