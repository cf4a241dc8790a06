#include "runtime/variants.h"

#include <fmt/ranges.h>

namespace hexlane {
namespace {

constexpr std::string_view kEmulatorSuffix = "-emulator";

bool IsNpu(const Variant& variant) { return !variant.soc.empty() && !IsEmulator(variant); }

// NPU variants (or emulators) of the wanted SoC.
std::vector<const Variant*> ForSoc(const Plan& plan, std::string_view soc,
                                   bool (*kind)(const Variant&)) {
  std::vector<const Variant*> found;
  for (const Variant& variant : plan.variants)
    if (kind(variant) && (soc.empty() || variant.soc == soc)) found.push_back(&variant);
  return found;
}

Failure NoVariant(const Plan& plan, const EngineOptions& options) {
  std::vector<std::string_view> names;
  for (const Variant& variant : plan.variants) names.push_back(variant.name);
  std::string got = fmt::format("backend '{}'", options.backend);
  if (!options.soc.empty()) got += fmt::format(", SoC '{}'", options.soc);
  return Unsupported("the package has no variant for this")
      .Want("one of: {}", fmt::join(names, ", "))
      .Got("{}", got)
      .Remedy("Convert the model for the SoC, or choose another backend");
}

Candidates Auto(const Plan& plan, const EngineOptions& options) {
  Candidates candidates{.variants = ForSoc(plan, options.soc, IsNpu)};
  const bool only_cpu = plan.variants.size() == 1 && plan.Find(kCpuVariant) != nullptr;
  if (candidates.variants.empty() && !options.soc.empty())
    candidates.reasons.push_back(fmt::format("the package has no variant for {}", options.soc));
  else if (candidates.variants.empty() && !only_cpu)
    candidates.reasons.push_back("the package has no NPU variant");
  if (const Variant* cpu = plan.Find(kCpuVariant)) candidates.variants.push_back(cpu);
  return candidates;
}

Candidates Htp(const Plan& plan, const EngineOptions& options) {
  Candidates candidates{.variants = ForSoc(plan, options.soc, IsNpu)};
  for (const Variant* emulator : ForSoc(plan, options.soc, IsEmulator))
    candidates.variants.push_back(emulator);
  return candidates;
}

Candidates Named(const Plan& plan, const std::string& name) {
  if (const Variant* variant = plan.Find(name)) return {.variants = {variant}};
  if (const Variant* variant = plan.Find(name + std::string(kEmulatorSuffix)))
    return {.variants = {variant}};
  return {};
}

}  // namespace

bool IsEmulator(const Variant& variant) { return variant.name.ends_with(kEmulatorSuffix); }

Result<Candidates> SelectVariants(const Plan& plan, const EngineOptions& options) {
  Candidates candidates = options.backend == "auto"  ? Auto(plan, options)
                          : options.backend == "htp" ? Htp(plan, options)
                                                     : Named(plan, options.backend);
  if (candidates.variants.empty()) return NoVariant(plan, options);
  return candidates;
}

}  // namespace hexlane
