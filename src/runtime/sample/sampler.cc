#include "runtime/sample/sampler.h"

#include <algorithm>
#include <cmath>

#include "kernels/sample/softmax.h"

namespace hexlane {

Sampler::Sampler(const SamplerOptions& options, int64_t vocab)
    : options_(options), random_(options.seed) {
  if (options_.repetition_penalty != 1) penalised_.resize(static_cast<size_t>(vocab));
  if (options_.temperature > 0) candidates_.reserve(static_cast<size_t>(vocab));
}

int32_t Sampler::Sample(std::span<const float> logits, std::span<const int32_t> history) {
  if (options_.repetition_penalty != 1) logits = Penalise(logits, history);
  if (options_.temperature <= 0) return static_cast<int32_t>(ArgMax(logits));
  Collect(logits);
  if (candidates_.empty()) return static_cast<int32_t>(ArgMax(logits));
  KeepTopK();
  ToProbabilities();
  KeepTopP();
  KeepMinP();
  return Draw();
}

std::span<const float> Sampler::Penalise(std::span<const float> logits,
                                         std::span<const int32_t> history) {
  std::ranges::copy(logits, penalised_.begin());
  for (const int32_t id : history) {  // from the original, so that a repeated token counts once
    const float logit = logits[static_cast<size_t>(id)];
    const float penalty = options_.repetition_penalty;
    penalised_[static_cast<size_t>(id)] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return penalised_;
}

void Sampler::Collect(std::span<const float> logits) {
  candidates_.clear();
  for (size_t id = 0; id < logits.size(); ++id)
    if (std::isfinite(logits[id])) candidates_.push_back({logits[id], static_cast<int32_t>(id)});
}

namespace {
// Better first; equal ones in the order of their ids, so that results do not depend on the sort.
constexpr auto kBetter = [](const auto& a, const auto& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
};
constexpr auto kWorse = [](const auto& a, const auto& b) { return kBetter(b, a); };
}  // namespace

void Sampler::KeepTopK() {
  const auto k = static_cast<size_t>(std::max(options_.top_k, 0));
  if (k == 0 || k >= candidates_.size()) return;
  std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(k) - 1,
                   candidates_.end(), kBetter);
  candidates_.resize(k);
  std::sort(candidates_.begin(), candidates_.end(), kBetter);
}

void Sampler::ToProbabilities() {
  float best = candidates_[0].weight;
  for (const Candidate& candidate : candidates_) best = std::max(best, candidate.weight);
  for (Candidate& candidate : candidates_)
    candidate.weight = std::exp((candidate.weight - best) / options_.temperature);
}

// A heap instead of a sort: the set is small, the vocabulary is not.
void Sampler::KeepTopP() {
  if (options_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  std::make_heap(candidates_.begin(), candidates_.end(), kWorse);
  double kept = 0;
  auto end = candidates_.end();
  while (end != candidates_.begin()) {
    std::pop_heap(candidates_.begin(), end, kWorse);  // the best of the rest moves to its end
    --end;
    kept += end->weight;
    if (kept >= options_.top_p * total) break;
  }
  candidates_.erase(candidates_.begin(), end);
}

void Sampler::KeepMinP() {
  if (options_.min_p <= 0) return;
  const float least = std::min(options_.min_p, 1.0f);  // the best one's weight is 1
  std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.weight < least; });
}

int32_t Sampler::Draw() {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  double rest = static_cast<double>(random_() >> 11) * 0x1p-53 * total;  // uniform in [0, total)
  for (const Candidate& candidate : candidates_) {
    rest -= candidate.weight;
    if (rest < 0) return candidate.id;
  }
  return candidates_.back().id;
}

}  // namespace hexlane
