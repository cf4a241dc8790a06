// Which variants of a package the engine's options ask for.
#ifndef HEXLANE_RUNTIME_VARIANTS_H_
#define HEXLANE_RUNTIME_VARIANTS_H_

#include <string>
#include <vector>

#include "hexlane/engine.h"
#include "package/plan.h"
#include "target/device.h"

namespace hexlane {

inline constexpr std::string_view kCpuVariant = "cpu";

// Compiled for the vendor's emulator on a workstation: "<soc>-emulator".
bool IsEmulator(const Variant& variant);

// Compiled for a phone's NPU.
bool IsNpu(const Variant& variant);

struct Candidates {
  std::vector<const Variant*> variants;  // try in this order; the first that loads is taken
  std::vector<std::string> reasons;      // why others are not among them ("auto" only)
};

// kUsage where the package has no variant for the SoC, or none of the backend's name; lists those
// there are.
Result<void> CheckSocOf(const Plan& plan, std::string_view soc);

// kUsage as CheckSocOf; kUnsupported where the package has nothing for "cpu" or "htp".
//   "auto"  NPU variants, then "cpu". The emulator is far slower than the CPU, so only for the
//           asking.
//   "htp"   NPU variants, then emulators
//   else    the variant of that name, or the emulator of that SoC
// Of NPU variants, where the device is known: its own, then those of its HTP generation, then of
// earlier ones, the latest first; those of later generations are left out, with the reason.
Result<Candidates> SelectVariants(const Plan& plan, const EngineOptions& options,
                                  const DeviceSoc& device = {});

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_VARIANTS_H_
