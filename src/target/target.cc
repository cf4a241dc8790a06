#include "target/target.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace hexlane {
namespace {
constexpr Target kTargets[] = {
#define SOC(Name, id, Arch, market, vtcm, ...) \
  {#Name, id, HtpArch::k##Arch, market, vtcm, {__VA_ARGS__}},
#include "target/soc.def"
#undef SOC
};

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}
}  // namespace

std::span<const Target> AllTargets() { return kTargets; }

Result<const Target*> FindTarget(std::string_view name) {
  std::string known;
  for (const Target& target : kTargets) {
    if (SameIgnoringCase(target.name, name)) return &target;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", target.name, target.market_name);
  }
  return Usage("unknown SoC '{}'", name).Want("one of {}", known);
}

}  // namespace hexlane
