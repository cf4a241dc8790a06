// Logits to the next token.
#ifndef HEXLANE_RUNTIME_SAMPLE_SAMPLER_H_
#define HEXLANE_RUNTIME_SAMPLE_SAMPLER_H_

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace hexlane {

// Applied in this order, as transformers does.
struct SamplerOptions {
  float repetition_penalty =
      1;                  // 1: off. Keskar et al. 2019: l > 0 ? l / p : l * p, once per token
  float temperature = 0;  // 0: greedy; what follows is then without effect
  int top_k = 0;          // keep the k best; 0: all
  float top_p = 1;        // keep the smallest set of best tokens whose probabilities reach p
  float min_p = 0;        // keep those with at least p times the best one's probability
  uint64_t seed = 0;
};

// For one thread. Allocates only when made.
class Sampler {
 public:
  Sampler(const SamplerOptions& options, int64_t vocab);

  // logits: [vocab]. history: tokens that the penalty applies to, all in the vocabulary. The same
  // seed and the same calls give the same tokens, on every machine. NaN is never drawn, unless all
  // are.
  int32_t Sample(std::span<const float> logits, std::span<const int32_t> history);

 private:
  struct Candidate {
    float weight;  // logit, then probability relative to the best one's
    int32_t id;
  };

  std::span<const float> Penalise(std::span<const float> logits, std::span<const int32_t> history);
  void Collect(std::span<const float> logits);
  void KeepTopK();
  void ToProbabilities();
  void KeepTopP();
  void KeepMinP();
  int32_t Draw();

  SamplerOptions options_;
  std::vector<float> penalised_;       // [vocab], or empty when there is no penalty
  std::vector<Candidate> candidates_;  // room for [vocab]
  std::mt19937_64 random_;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_SAMPLE_SAMPLER_H_
