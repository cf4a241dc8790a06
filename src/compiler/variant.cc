#include "compiler/variant.h"

#include <algorithm>
#include <chrono>

#include "backends/emitters.h"
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
                .stem = fmt::format("{}/{}.{}-{}", args.folder, args.name, run.first,
                                    run.first + run.count - 1),
                .vendor_library = args.vendor_library,
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
          .contract = std::move(emitted.contract)};
}

}  // namespace

Result<VariantResult> CompileVariant(const VariantArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  Partition partition = TRY(PartitionUnits(args.units, args.backend, args.target));
  std::error_code error;
  std::filesystem::create_directories(args.directory / args.folder, error);
  VariantResult result{.refusals = std::move(partition.refusals)};
  result.variant = {.name = args.name,
                    .soc = args.target ? std::string(args.target->name) : "",
                    .stages = args.stages};
  for (const UnitRun& run : partition.runs) {
    const std::unique_ptr<Emitter> emitter = TRY(NewEmitter(run.backend));
    EmitResult emitted = TRY(emitter->Emit(ArgsFor(args, run)));
    result.versions.merge(emitted.versions);
    result.child_peak_rss_bytes = std::max(result.child_peak_rss_bytes, emitted.peak_rss_bytes);
    result.variant.parts.push_back(Describe(run, args.units.count, std::move(emitted)));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace hexlane
