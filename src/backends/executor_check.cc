#include "backends/executor_check.h"

#include <algorithm>

namespace hexlane {
namespace {

Result<void> CheckSize(std::string_view name, size_t got, int64_t want) {
  if (got == static_cast<size_t>(want)) return {};
  return InvalidInput("'{}' has the wrong size", name).Want("{}", want).Got("{}", got);
}

Result<void> CheckStage(const Variant& variant, const RunArgs& args) {
  const StageShape& stage = args.stage;
  if (std::ranges::find(variant.stages, stage) == variant.stages.end())
    return InvalidInput("variant '{}' has no stage {}", variant.name, stage.name());
  if (args.rows < 1 || args.rows > stage.rows)
    return InvalidInput("rows are out of range").Want("1..{}", stage.rows).Got("{}", args.rows);
  if (args.past_len < 0 || args.past_len > stage.past()) {
    return InvalidInput("past_len does not fit stage {}", stage.name())
        .Want("0..{}", stage.past())
        .Got("{}", args.past_len);
  }
  return {};
}

Result<void> CheckInput(const ModelShape& model, const Part& part, const RunArgs& args) {
  if (part.input != "ids")
    return CheckSize("input", args.input.size(), int64_t{args.rows} * model.hidden);
  TRY(CheckSize("ids", args.ids.size(), args.rows));
  const auto bad =
      std::ranges::find_if(args.ids, [&](int32_t id) { return id < 0 || id >= model.vocab; });
  if (bad == args.ids.end()) return {};
  return InvalidInput("a token is not in the vocabulary")
      .Want("0..{}", model.vocab - 1)
      .Got("{}", *bad);
}

}  // namespace

Result<void> CheckRunArgs(const ModelShape& model, const Variant& variant, const Part& part,
                          const RunArgs& args) {
  TRY(CheckStage(variant, args));
  TRY(CheckInput(model, part, args));
  if (part.output != "logits")
    return CheckSize("output", args.output.size(), int64_t{args.rows} * model.hidden);
  return CheckSize("output", args.output.size(),
                   int64_t{args.all_logits ? args.rows : 1} * model.vocab);
}

}  // namespace hexlane
