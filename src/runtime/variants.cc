#include "runtime/variants.h"

#include <fmt/ranges.h>

namespace hexlane {
namespace {

constexpr std::string_view kEmulatorSuffix = "-emulator";

// NPU variants (or emulators) of the wanted SoC.
std::vector<const Variant*> ForSoc(const Plan& plan, std::string_view soc,
                                   bool (*kind)(const Variant&)) {
  std::vector<const Variant*> found;
  for (const Variant& variant : plan.variants)
    if (kind(variant) && (soc.empty() || variant.soc == soc)) found.push_back(&variant);
  return found;
}

std::vector<std::string_view> NamesOf(const Plan& plan) {
  std::vector<std::string_view> names;
  for (const Variant& variant : plan.variants) names.push_back(variant.name);
  return names;
}

Failure NoVariant(const Plan& plan, const EngineOptions& options) {
  std::string got = fmt::format("backend '{}'", options.backend);
  if (!options.soc.empty()) got += fmt::format(", SoC '{}'", options.soc);
  const bool is_kind = options.backend == "htp" || options.backend == kCpuVariant;
  return Failure(is_kind ? Code::kUnsupported : Code::kUsage, "the package has no variant for this")
      .Want("one of: {}", fmt::join(NamesOf(plan), ", "))
      .Got("{}", got)
      .Remedy("Convert the model for the SoC, or choose another backend");
}

Candidates Auto(const Plan& plan, const EngineOptions& options) {
  Candidates candidates{.variants = ForSoc(plan, options.soc, IsNpu)};
  const bool only_cpu = plan.variants.size() == 1 && plan.Find(kCpuVariant) != nullptr;
  if (candidates.variants.empty() && !only_cpu)
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

bool IsNpu(const Variant& variant) { return !variant.soc.empty() && !IsEmulator(variant); }

Result<void> CheckSocOf(const Plan& plan, std::string_view soc) {
  for (const Variant& variant : plan.variants)
    if (variant.soc == soc) return {};
  return Usage("the package has no variant for SoC '{}'", soc)
      .Want("one of its variants: {}", fmt::join(NamesOf(plan), ", "))
      .Remedy("Leave --soc out, or convert the model with --soc");
}

Result<Candidates> SelectVariants(const Plan& plan, const EngineOptions& options) {
  if (!options.soc.empty()) TRY(CheckSocOf(plan, options.soc));
  Candidates candidates = options.backend == "auto"  ? Auto(plan, options)
                          : options.backend == "htp" ? Htp(plan, options)
                                                     : Named(plan, options.backend);
  if (candidates.variants.empty()) return NoVariant(plan, options);
  return candidates;
}

}  // namespace hexlane
