#include "runtime/sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace hexlane {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

Result<void> CheckRange(bool good, std::string_view name, std::string_view want, double got) {
  if (good) return {};
  return Usage("sampling option {} is out of range", name).Want("{}", want).Got("{}", got);
}

// Strict and total, so that every sort of every library gives the same order.
template <typename Candidate>
bool Better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

}  // namespace

Result<void> CheckSamplerOptions(const SamplerOptions& o) {
  TRY(CheckRange(std::isfinite(o.temperature) && o.temperature >= 0, "temperature", "at least 0",
                 o.temperature));
  TRY(CheckRange(o.top_k >= 0, "top_k", "at least 0", o.top_k));
  TRY(CheckRange(o.top_p > 0 && o.top_p <= 1, "top_p", "above 0 and at most 1", o.top_p));
  TRY(CheckRange(o.min_p >= 0 && o.min_p <= 1, "min_p", "from 0 to 1", o.min_p));
  TRY(CheckRange(std::isfinite(o.repetition_penalty) && o.repetition_penalty > 0,
                 "repetition_penalty", "above 0", o.repetition_penalty));
  return CheckRange(o.repetition_window >= -1, "repetition_window", "at least -1",
                    o.repetition_window);
}

Sampler::Sampler(const SamplerOptions& options, int vocab)
    : options_(options), random_(options.seed) {
  CHECK(vocab > 0 && CheckSamplerOptions(options).has_value());
  logits_.resize(static_cast<size_t>(vocab));
  penalised_.resize(static_cast<size_t>(vocab));
  candidates_.reserve(static_cast<size_t>(vocab));
}

Result<int32_t> Sampler::Sample(std::span<const float> logits, std::span<const int32_t> history) {
  if (logits.size() != logits_.size())
    return InvalidInput("logits do not fit the sampler")
        .Want("{}", logits_.size())
        .Got("{}", logits.size());
  Load(logits);
  Penalise(history);
  const auto best = std::max_element(logits_.begin(), logits_.end());  // the first of equals
  if (*best == kNever)
    return InvalidInput("the model's logits are all NaN or minus infinity")
        .Remedy("Run `hexlane verify` to find the layer where this begins.");
  if (options_.temperature == 0) return static_cast<int32_t>(best - logits_.begin());
  SetCandidates(*best);
  KeepTopP();
  KeepMinP();
  return Draw();
}

void Sampler::Load(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i)
    logits_[i] =
        std::isnan(logits[i]) ? kNever : std::min(logits[i], std::numeric_limits<float>::max());
}

void Sampler::Penalise(std::span<const int32_t> history) {
  const float penalty = options_.repetition_penalty;
  if (penalty == 1 || options_.repetition_window == 0) return;
  if (options_.repetition_window > 0)
    history =
        history.last(std::min(history.size(), static_cast<size_t>(options_.repetition_window)));
  ++calls_;
  for (const int32_t id : history) {
    const size_t index = static_cast<size_t>(id);  // a negative id becomes huge
    if (index >= logits_.size() || penalised_[index] == calls_) continue;
    penalised_[index] = calls_;  // once, however often it occurs
    const float logit = logits_[index];
    logits_[index] =
        std::min(logit > 0 ? logit / penalty : logit * penalty, std::numeric_limits<float>::max());
  }
}

void Sampler::SetCandidates(float best) {
  candidates_.clear();
  sorted_ = 0;
  for (size_t i = 0; i < logits_.size(); ++i)
    if (logits_[i] != kNever) candidates_.push_back({logits_[i], static_cast<int32_t>(i), 0});
  const size_t top_k = static_cast<size_t>(options_.top_k);
  if (top_k > 0 && top_k < candidates_.size()) {
    SortBest(top_k);
    candidates_.resize(top_k);
  }
  for (Candidate& c : candidates_)
    c.weight = std::exp((double{c.logit} - best) / options_.temperature);
}

void Sampler::SortBest(size_t count) {
  count = std::min(count, candidates_.size());
  if (count <= sorted_) return;
  const auto begin = candidates_.begin() + static_cast<ptrdiff_t>(sorted_);
  const auto end = candidates_.begin() + static_cast<ptrdiff_t>(count);
  if (end != candidates_.end()) std::nth_element(begin, end, candidates_.end(), Better<Candidate>);
  std::sort(begin, end, Better<Candidate>);
  sorted_ = count;
}

double Sampler::TotalWeight() const {
  double total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  return total;
}

void Sampler::KeepTopP() {
  if (options_.top_p >= 1) return;
  const double wanted = double{options_.top_p} * TotalWeight();
  double reached = 0;
  size_t count = 0;
  while (count < candidates_.size() && (count == 0 || reached < wanted)) {
    if (count == sorted_) SortBest(std::max<size_t>(64, 4 * count));
    reached += candidates_[count++].weight;
  }
  candidates_.resize(count);
}

void Sampler::KeepMinP() {
  if (options_.min_p <= 0) return;
  std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < options_.min_p; });
}

int32_t Sampler::Draw() {
  double left = random_.NextUnit() * TotalWeight();
  int32_t last = candidates_.front().id;
  for (const Candidate& c : candidates_) {
    if (c.weight <= 0) continue;
    last = c.id;
    left -= c.weight;
    if (left < 0) break;
  }
  return last;
}

}  // namespace hexlane
