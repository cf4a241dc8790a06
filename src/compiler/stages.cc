#include <array>

#include "hexlane/compiler.h"

namespace hexlane {
namespace {
constexpr std::array<std::string_view, 4> kNames = {"float", "quant", "htp", "cpu"};
}

std::string_view StageName(Stage stage) { return kNames[static_cast<size_t>(stage)]; }

Result<Stage> StageFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Stage>(i);
  return Usage("unknown stage '{}'", name).Want("float, quant, htp or cpu");
}

}  // namespace hexlane
