#include "compiler/partition.h"

#include <algorithm>

#include "backends/emitters.h"

namespace hexlane {
namespace {

bool IsLookup(const Graph& unit) {
  return std::all_of(unit.nodes().begin(), unit.nodes().end(),
                     [](const Node& node) { return node.op == OpKind::kEmbedding; });
}

// Appends what `emitter` refuses of `unit`; true when that is nothing.
bool Accepts(const Emitter& emitter, const Graph& unit, const Target* target,
             std::vector<Refusal>& refusals) {
  bool accepted = true;
  for (const Node& node : unit.nodes()) {
    const std::optional<std::string> reason = emitter.Refuses(unit, node, target);
    if (!reason) continue;
    accepted = false;
    refusals.push_back({unit.name(), unit.NameOf(node), std::string(Def(node.op).name), *reason});
  }
  return accepted;
}

}  // namespace

Result<Partition> PartitionUnits(const UnitSource& units, std::string_view backend,
                                 const Target* target) {
  const std::unique_ptr<Emitter> emitter = TRY(NewEmitter(backend));
  Partition partition;
  for (int i = 0; i < units.count; ++i) {
    const Graph unit = TRY(units.load(i));
    const bool there = !IsLookup(unit) && Accepts(*emitter, unit, target, partition.refusals);
    const std::string_view chosen = there ? backend : "cpu";
    if (!partition.runs.empty() && partition.runs.back().backend == chosen)
      ++partition.runs.back().count;
    else
      partition.runs.push_back({std::string(chosen), i, 1});
  }
  return partition;
}

}  // namespace hexlane
