#include "quant/algorithm/algorithm.h"

namespace hexlane {
namespace {

struct Step {
  std::string_view name;
  bool Algorithm::* on;
};
constexpr Step kSteps[] = {{"rotate", &Algorithm::rotate}, {"smooth", &Algorithm::smooth},
                           {"awq", &Algorithm::awq},       {"search", &Algorithm::search},
                           {"gptq", &Algorithm::gptq},     {"bias", &Algorithm::bias}};
constexpr std::string_view kNone = "rtn";

Result<void> AddStep(std::string_view name, Algorithm& algorithm) {
  for (const Step& step : kSteps) {
    if (step.name != name) continue;
    algorithm.*step.on = true;
    return {};
  }
  std::string known(kNone);
  for (const Step& step : kSteps) known += fmt::format(", {}", step.name);
  return Usage("algorithm '{}' is not known", name)
      .Want("one of: {}; several joined by '+'", known);
}

}  // namespace

std::string Algorithm::name() const {
  std::string name;
  for (const Step& step : kSteps)
    if (this->*step.on) name += fmt::format("{}{}", name.empty() ? "" : "+", step.name);
  return name.empty() ? std::string(kNone) : name;
}

Result<Algorithm> ParseAlgorithm(std::string_view text) {
  Algorithm algorithm;
  if (text == kNone) return algorithm;
  while (true) {
    const size_t plus = text.find('+');
    TRY(AddStep(text.substr(0, plus), algorithm));
    if (plus == text.npos) return algorithm;
    text.remove_prefix(plus + 1);
  }
}

}  // namespace hexlane
