#include "compiler/jobs.h"

#include <algorithm>

#include "compiler/parts.h"
#include "compiler/quantise.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

// Seconds, on two cores; measured with LLaMA-7B (docs/compiler.md). Good for the order of jobs, not
// for promises.
constexpr double kStartSeconds = 1;
constexpr double kSecondsPerWeight = 30e-9;
constexpr double kSecondsPerWeightAndToken = 0.06e-9;
constexpr double kSecondsPerCompilerByte = 7e-9;
constexpr double kSecondsPerHashedByte = 3e-9;

struct Weights {
  size_t all = 0;
  size_t bytes = 0;  // as stored
};

Result<Weights> CountWeights(const UnitSource& units) {
  Weights weights;
  for (int unit = 0; unit < units.count; ++unit) {
    const Graph graph = TRY(units.load(unit));
    for (const Value& value : graph.values()) {
      if (!value.constant) continue;
      weights.all += static_cast<size_t>(value.shape.elements());
      weights.bytes += value.constant->view().bytes.size();
    }
  }
  return weights;
}

Result<ConvertJob> QuantiseJob(const JobArgs& args, const Weights& weights) {
  const double per_weight = kSecondsPerWeight + kSecondsPerWeightAndToken * args.calibration_tokens;
  return ConvertJob{.id = std::string(kQuantiseStep),
                    .only = std::string(kQuantiseStep),
                    .inputs = args.inputs,
                    .outputs = {args.staging / "weights.bin",
                                args.staging / LastQuantiseRecord(args.units.count)},
                    .memory_bytes = kOwnBytes + TRY(QuantisingBytes(args.units, args.options)),
                    .seconds = kStartSeconds + per_weight * static_cast<double>(weights.all)};
}

ConvertJob PartJob(const JobArgs& args, const VariantArgs& variant, const UnitRun& run,
                   const ConvertJob& quantise) {
  const std::string stem = PartStem(variant, run);
  return {.id = stem,
          .only = stem,
          .inputs = quantise.outputs,
          .outputs = {args.staging / PartRecord(stem)},
          .memory_bytes = kOwnBytes + run.cost.memory_bytes,
          .seconds =
              kStartSeconds + kSecondsPerCompilerByte * static_cast<double>(run.cost.memory_bytes),
          .dependencies = {quantise.id}};
}

ConvertJob PackageJob(const JobArgs& args, const Weights& weights,
                      const std::vector<ConvertJob>& before) {
  ConvertJob job{
      .id = "package",
      .outputs = {args.package / "manifest.json"},
      .memory_bytes = kOwnBytes,
      .seconds = kStartSeconds + kSecondsPerHashedByte * static_cast<double>(weights.bytes)};
  for (const ConvertJob& other : before) {
    job.dependencies.push_back(other.id);
    job.inputs.insert(job.inputs.end(), other.outputs.begin(), other.outputs.end());
  }
  return job;
}

}  // namespace

Result<std::vector<ConvertJob>> JobsOf(const JobArgs& args) {
  const Weights weights = TRY(CountWeights(args.units));
  std::vector<ConvertJob> jobs = {TRY(QuantiseJob(args, weights))};
  for (const VariantArgs& variant : args.variants)
    for (const UnitRun& run : variant.partition.runs)
      if (run.backend == variant.backend && variant.target)
        jobs.push_back(PartJob(args, variant, run, jobs.front()));
  jobs.push_back(PackageJob(args, weights, jobs));
  return jobs;
}

}  // namespace hexlane
