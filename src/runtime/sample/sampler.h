// From the logits of one position to the next token.
#ifndef HEXLANE_RUNTIME_SAMPLE_SAMPLER_H_
#define HEXLANE_RUNTIME_SAMPLE_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hexlane/status.h"
#include "runtime/sample/random.h"

namespace hexlane {

// The defaults sample greedily. Every setting beside the temperature is off at its default.
struct SamplerOptions {
  float temperature = 0;  // 0: always the best token; otherwise logits are divided by it
  int top_k = 0;          // keep the k best; 0: all
  float top_p = 1;        // (0, 1]: keep the fewest best whose probabilities reach top_p
  float min_p = 0;        // [0, 1]: keep those with at least min_p times the best probability
  float repetition_penalty = 1;  // > 0; above 1: less of what was said (Keskar et al. 2019)
  int repetition_window = 64;    // how many last tokens of the history count; 0: none, -1: all
  uint64_t seed = 0;             // same seed, logits and history: same tokens, on every machine
};

// kUsage naming the first option that is out of range.
Result<void> CheckSamplerOptions(const SamplerOptions& options);

// Steps, in Hugging Face's order: repetition penalty, temperature, top-k, top-p, min-p, draw. Among
// equal logits the lower id ranks first, in greedy choice too; top-k keeps exactly k (Hugging Face
// keeps all that equal the k-th). All memory is allocated by the constructor. Not thread-safe: one
// per session.
class Sampler {
 public:
  // CheckSamplerOptions has accepted the options; 0 < vocab.
  Sampler(const SamplerOptions& options, int vocab);

  // logits: [vocab]; a NaN counts as -inf. history: the token ids so far, oldest first; ids outside
  // the vocabulary are passed over. kInvalidInput when the length is not vocab or no logit is above
  // -inf.
  Result<int32_t> Sample(std::span<const float> logits, std::span<const int32_t> history);

  // Starts the random numbers again.
  void Reseed(uint64_t seed) { random_ = RandomStream(seed); }

  const SamplerOptions& options() const { return options_; }

 private:
  struct Candidate {
    float logit;
    int32_t id;
    double weight;  // exp((logit - best) / temperature), so 1 for the best
  };

  void Load(std::span<const float> logits);
  void Penalise(std::span<const int32_t> history);
  void SetCandidates(float best);
  void SortBest(size_t count);  // so many of the best candidates to the front, in order
  void KeepTopP();
  void KeepMinP();
  int32_t Draw();
  double TotalWeight() const;

  SamplerOptions options_;
  RandomStream random_;
  std::vector<float> logits_;          // [vocab], NaN-free, after the penalty
  std::vector<Candidate> candidates_;  // room for vocab
  std::vector<uint64_t> penalised_;    // [vocab], the number of the call that penalised the id last
  uint64_t calls_ = 0;
  size_t sorted_ = 0;  // so many candidates at the front are the best ones in order
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_SAMPLE_SAMPLER_H_
