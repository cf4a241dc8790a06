#include "runtime/model.h"

#include <fmt/ranges.h>

#include "backends/executors.h"
#include "base/file.h"
#include "runtime/load_marker.h"
#include "runtime/load_progress.h"
#include "runtime/memory_need.h"
#include "runtime/power/cores.h"
#include "runtime/steps.h"
#include "runtime/variants.h"

namespace hexlane {
namespace {

uint64_t BytesOf(const Package& package, std::span<const Part> parts) {
  uint64_t bytes = 0;
  for (const Part& part : parts)
    for (const std::string& file : part.files) bytes += package.files().at(file);
  return bytes;
}

// A CPU variant loads no library that could crash.
Result<LoadMarker> MarkLoad(const Package& package, const Variant& variant,
                            const EngineOptions& options) {
  if (!IsNpu(variant) || options.cache_dir.empty()) return LoadMarker::Begin("", "", "");
  const std::string manifest = TRY(Sha256File(package.directory() / "manifest.json"));
  return LoadMarker::Begin(
      options.cache_dir, variant.name,
      fmt::format("{} {} {}", HEXLANE_VERSION, manifest, options.vendor_library),
      options.backend != "auto");
}

}  // namespace

Result<std::unique_ptr<Model>> Model::Load(std::shared_ptr<const Package> package,
                                           const EngineOptions& options) {
  std::unique_ptr<Model> model(new Model);
  model->package_ = std::move(package);
  model->pool_ = TRY(NewThreadPool(options));
  model->power_ = options.power;
  TRY(model->LoadFirst(options));
  TRY(model->SetContext(options.context));
  return model;
}

Result<void> Model::LoadFirst(const EngineOptions& options) {
  const Candidates candidates = TRY(SelectVariants(package_->plan(), options, DetectSoc()));
  std::vector<std::string> reasons = candidates.reasons;
  for (const Variant* variant : candidates.variants) {
    const Result<void> loaded = LoadVariant(*variant, options);
    if (loaded) {
      if (variant->soc.empty()) fallback_reason_ = fmt::format("{}", fmt::join(reasons, "; "));
      return {};
    }
    // Damage is not a reason to run something else.
    const Code code = loaded.error().code;
    if (candidates.variants.size() == 1 || code == Code::kCorrupt || code == Code::kCancelled)
      return Failure(loaded.error());
    reasons.push_back(fmt::format("{}: {}", variant->name, loaded.error().ToString()));
  }
  return Environment("no variant of the package can run here")
      .Got("{}", fmt::join(reasons, "; "))
      .Remedy("hexlane doctor says what is missing");
}

Result<void> Model::LoadVariant(const Variant& variant, const EngineOptions& options) {
  TRY(CheckMemory(*package_, variant, options));
  const LoadMarker marker = TRY(MarkLoad(*package_, variant, options));
  std::vector<std::unique_ptr<Executor>> executors;
  uint64_t done = 0;
  for (const Part& part : variant.parts) {
    TRY(Tell(options, {LoadPhase::kParts, done, BytesOf(*package_, variant.parts)}));
    executors.push_back(TRY(LoadExecutor({.package = package_,
                                          .variant = &variant,
                                          .part = &part,
                                          .pool = pool_.get(),
                                          .vendor_library = options.vendor_library,
                                          .skel_dir = options.skel_dir})));
    done += BytesOf(*package_, std::span(&part, 1));
  }
  executors_ = std::move(executors);
  std::vector<const Executor*> voters;
  for (const auto& executor : executors_) voters.push_back(executor.get());
  votes_ = std::make_unique<PowerVotes>(std::move(voters), power_);
  variant_ = &variant;
  return {};
}

Result<void> Model::SetContext(int wanted) {
  const int capacity = Capacity(variant_->stages);
  if (wanted < 0 || wanted > capacity) {
    return Unsupported("variant '{}' does not have that context", variant_->name)
        .Want("1..{} positions", capacity)
        .Got("{}", wanted)
        .Remedy("Convert the model with a larger --context");
  }
  context_ = wanted == 0 ? capacity : wanted;
  return {};
}

Result<ModelState> Model::NewState() const {
  const std::lock_guard lock(mutex_);
  ModelState state;
  for (const auto& executor : executors_) state.parts.push_back(TRY(executor->NewState()));
  if (executors_.size() == 1) return state;
  const size_t rows = static_cast<size_t>(variant_->stages.back().rows);
  for (auto& hidden : state.hidden) hidden.resize(rows * static_cast<size_t>(shape().hidden));
  return state;
}

Result<void> Model::Run(ModelState& state, const ModelRun& run) const {
  const std::lock_guard lock(mutex_);
  const size_t width = run.ids.size() * static_cast<size_t>(shape().hidden);
  std::span<const float> input;
  for (size_t i = 0; i < executors_.size(); ++i) {
    const bool last = i + 1 == executors_.size();
    const std::span<float> output = last ? run.logits : std::span(state.hidden[i % 2]).first(width);
    TRY(executors_[i]->Run(*state.parts[i], {.stage = run.stage,
                                             .rows = static_cast<int>(run.ids.size()),
                                             .past_len = run.past_len,
                                             .ids = i == 0 ? run.ids : std::span<const int32_t>(),
                                             .input = input,
                                             .output = output,
                                             .all_logits = last && run.all_logits,
                                             .observer = run.observer,
                                             .times = run.times}));
    input = output;
  }
  return {};
}

void Model::Trim(TrimLevel level) const {
  const std::lock_guard lock(mutex_);
  package_->DropWeightPages();
  if (level == TrimLevel::kAll)
    for (const auto& executor : executors_) executor->Release();
}

}  // namespace hexlane
