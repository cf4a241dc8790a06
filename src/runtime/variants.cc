#include "runtime/variants.h"

#include <fmt/ranges.h>

#include <algorithm>

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

Failure NoVariant(const Plan& plan, const EngineOptions& options, const DeviceSoc& device) {
  std::string got = fmt::format("backend '{}'", options.backend);
  if (!options.soc.empty()) got += fmt::format(", SoC '{}'", options.soc);
  if (device.known()) got += fmt::format(", on {}", device.ToString());
  const bool is_kind = options.backend == "htp" || options.backend == kCpuVariant;
  return Failure(is_kind ? Code::kUnsupported : Code::kUsage, "the package has no variant for this")
      .Want("one of: {}", fmt::join(NamesOf(plan), ", "))
      .Got("{}", got)
      .Remedy("Convert the model for the SoC, or choose another backend");
}

int ArchOf(const Variant& variant) {
  for (const Target& target : AllTargets())
    if (target.name == variant.soc) return static_cast<int>(target.arch);
  return 0;
}

// 0 fits best; later generations than the device's are not in the order at all.
int Rank(const Variant& variant, const Target& device) {
  if (variant.soc == device.name) return 0;
  return 1 + static_cast<int>(device.arch) - ArchOf(variant);
}

// What of `found` may run on the device, the best first; reasons for the rest.
Candidates ForDevice(std::vector<const Variant*> found, const DeviceSoc& device) {
  if (device.target == nullptr) return {.variants = std::move(found)};
  Candidates candidates;
  for (const Variant* variant : found) {
    if (Rank(*variant, *device.target) >= 0)
      candidates.variants.push_back(variant);
    else
      candidates.reasons.push_back(fmt::format("{}: made for HTP V{}, this is {}", variant->name,
                                               ArchOf(*variant), device.ToString()));
  }
  std::ranges::stable_sort(candidates.variants, {},
                           [&](const Variant* variant) { return Rank(*variant, *device.target); });
  return candidates;
}

Candidates Auto(const Plan& plan, const EngineOptions& options, const DeviceSoc& device) {
  Candidates candidates = ForDevice(ForSoc(plan, options.soc, IsNpu), device);
  const bool only_cpu = plan.variants.size() == 1 && plan.Find(kCpuVariant) != nullptr;
  if (candidates.variants.empty() && candidates.reasons.empty() && !only_cpu)
    candidates.reasons.push_back("the package has no NPU variant");
  if (const Variant* cpu = plan.Find(kCpuVariant)) candidates.variants.push_back(cpu);
  return candidates;
}

Candidates Htp(const Plan& plan, const EngineOptions& options, const DeviceSoc& device) {
  Candidates candidates = ForDevice(ForSoc(plan, options.soc, IsNpu), device);
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

Result<Candidates> SelectVariants(const Plan& plan, const EngineOptions& options,
                                  const DeviceSoc& device) {
  if (!options.soc.empty()) TRY(CheckSocOf(plan, options.soc));
  Candidates candidates = options.backend == "auto"  ? Auto(plan, options, device)
                          : options.backend == "htp" ? Htp(plan, options, device)
                                                     : Named(plan, options.backend);
  if (candidates.variants.empty()) return NoVariant(plan, options, device);
  return candidates;
}

}  // namespace hexlane
