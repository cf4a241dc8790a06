// What changes to a decoder's matrices do to its outputs: single ones, each by itself with all else
// in float, or a whole quantisation.
#ifndef HEXLANE_COMPILER_DAMAGE_H_
#define HEXLANE_COMPILER_DAMAGE_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/emitter.h"
#include "base/thread_pool.h"
#include "compiler/text_comparison.h"
#include "models/decoder.h"
#include "quant/schemes.h"

namespace hexlane {

// Matrices in other forms, rounded to nearest: by the weight's name.
struct Candidate {
  std::map<std::string, Scheme, std::less<>> matrices;
  bool local = false;  // only Damage::unit_error is wanted, which is much cheaper
};

struct Damage {
  // At the output of the first unit that has one of the matrices: mean over tokens of
  // ‖error‖² / ‖output‖². The next norm divides by the length of each token, so this is the error
  // as later layers see it; sums over tokens would show but the few with massive activations.
  double unit_error = 0;
  double kl = 0;           // mean Kullback-Leibler divergence from the float model, nats
  double logit_error = 0;  // Σ error² / Σ logit²
};

class DamageMeter {
 public:
  // Each window of tokens starts with an empty cache. All that is given outlives the meter.
  DamageMeter(const Decoder& decoder, const std::vector<std::vector<int32_t>>& windows,
              ThreadPool& pool, const ProgressCallback& progress)
      : decoder_(decoder), windows_(windows), pool_(pool), progress_(progress) {}

  // One sweep over the units: each candidate's hidden states start beside the float model's at the
  // first unit that it changes and go on with them. Memory: a unit, the states of so many
  // candidates as kStateBytes hold (the others in further sweeps), two windows of logits.
  Result<std::vector<Damage>> Measure(std::span<const Candidate> candidates);

  // The whole model quantised, with activations; ranges, and what the algorithm looks at, are of
  // the same windows. No algorithm that rotates or migrates scales.
  Result<TextComparison> MeasureQuantised(const QuantOptions& options);

  static constexpr size_t kStateBytes = 256u << 20;

 private:
  Result<void> Sweep(std::span<const Candidate> candidates, std::span<Damage> damages);

  const Decoder& decoder_;
  const std::vector<std::vector<int32_t>>& windows_;
  ThreadPool& pool_;
  const ProgressCallback& progress_;
};

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_DAMAGE_H_
