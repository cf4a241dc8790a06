#include "compiler/variant.h"

#include <algorithm>
#include <chrono>

#include "compiler/parts.h"
#include "models/decoder.h"

namespace hexlane {
namespace {

EmitArgs ArgsFor(const VariantArgs& args, const UnitRun& run) {
  const bool preferred = run.backend == args.backend;
  EmitArgs emit{.units = args.units,
                .first_unit = run.first,
                .unit_count = run.count,
                .stages = args.stages,
                .target = preferred ? args.target : nullptr,
                .share_weights = args.share_weights,
                .all_logits = args.all_logits,
                .directory = args.directory,
                .stem = PartStem(args, run),
                .vendor_library = args.vendor_library,
                .memory_limit = args.memory,
                .progress = args.progress,
                .probe = preferred ? args.probe : nullptr};
  for (int unit = run.first; unit < run.first + run.count && preferred; ++unit) {
    const std::string output = UnitOutputName(unit);
    if (std::find(args.taps.begin(), args.taps.end(), output) != args.taps.end())
      emit.taps.push_back(output);
  }
  return emit;
}

Part Describe(const UnitRun& run, int unit_count, EmitResult emitted) {
  const bool last = run.first + run.count == unit_count;
  return {.backend = run.backend,
          .first_unit = run.first,
          .unit_count = run.count,
          .input = run.first == 0 ? "ids" : UnitOutputName(run.first - 1),
          .output = last ? "logits" : UnitOutputName(run.first + run.count - 1),
          .files = std::move(emitted.files),
          .contract = std::move(emitted.contract),
          .spill_fill_bytes = emitted.spill_fill_bytes};
}

PartTask TaskFor(const VariantArgs& args, const UnitRun& run) {
  return {
      .backend = run.backend, .args = ArgsFor(args, run), .memory_bytes = run.cost.memory_bytes};
}

void MakeFolder(const VariantArgs& args) {
  std::error_code ignored;  // whoever writes into it will say
  std::filesystem::create_directories(args.directory / args.folder, ignored);
}

// One part after the other, each with what left the one before.
Result<std::vector<EmitResult>> ProbeParts(const VariantArgs& args, const Partition& partition) {
  std::vector<EmitResult> results;
  bool entered = false;  // the probe's input belongs to the first part on the backend
  for (const UnitRun& run : partition.runs) {
    results.push_back(TRY(EmitPart(TaskFor(args, run), args.journal)));
    if (run.backend == args.backend)
      args.probe->input = args.probe->outputs[UnitOutputName(run.first + run.count - 1)];
    else if (entered)
      TRY(args.between(run.first, run.count, *args.probe));
    entered |= run.backend == args.backend;
  }
  return results;
}

Result<std::vector<EmitResult>> EmitAll(const VariantArgs& args, const Partition& partition) {
  std::vector<PartTask> tasks;
  for (const UnitRun& run : partition.runs) tasks.push_back(TaskFor(args, run));
  return EmitParts(std::move(tasks), {.memory = partition.memory,
                                      .limit = args.memory,
                                      .journal = args.journal,
                                      .progress = args.progress});
}

}  // namespace

std::string PartStem(const VariantArgs& args, const UnitRun& run) {
  return fmt::format("{}/{}.{}-{}", args.folder, args.name, run.first, run.first + run.count - 1);
}

Result<Partition> PartitionOf(const VariantArgs& args) {
  return PartitionUnits(args.units, {.backend = args.backend,
                                     .target = args.target,
                                     .stage_count = args.stages.size(),
                                     .memory = args.memory});
}

Result<void> CompilePart(const VariantArgs& args, std::string_view stem) {
  const Partition partition = args.partition.runs.empty() ? TRY(PartitionOf(args)) : args.partition;
  std::string known;
  for (const UnitRun& run : partition.runs) {
    if (run.backend != args.backend) continue;
    known += (known.empty() ? "" : ", ") + PartStem(args, run);
    if (PartStem(args, run) != stem) continue;
    MakeFolder(args);
    TRY(EmitPart(TaskFor(args, run), args.journal));
    return {};
  }
  return Usage("the conversion has no part '{}'", stem)
      .Want("one of: {}", known)
      .Remedy("Plan again with the same options, or convert without --only");
}

Result<VariantResult> CompileVariant(const VariantArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  Partition partition = args.partition.runs.empty() ? TRY(PartitionOf(args)) : args.partition;
  MakeFolder(args);
  VariantResult result{.refusals = std::move(partition.refusals)};
  result.variant = {.name = args.name,
                    .soc = args.target ? std::string(args.target->name) : "",
                    .stages = args.stages};
  std::vector<EmitResult> emitted =
      TRY(args.probe ? ProbeParts(args, partition) : EmitAll(args, partition));
  for (size_t i = 0; i < emitted.size(); ++i) {
    result.versions.merge(emitted[i].versions);
    result.child_peak_rss_bytes = std::max(result.child_peak_rss_bytes, emitted[i].peak_rss_bytes);
    result.variant.parts.push_back(
        Describe(partition.runs[i], args.units.count, std::move(emitted[i])));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace hexlane
