// Inverse frequencies of rotary embeddings and the ways checkpoints stretch them.
#ifndef HEXLANE_MODELS_ROPE_SCALING_H_
#define HEXLANE_MODELS_ROPE_SCALING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace hexlane {

struct RopeFrequencies {
  std::vector<float> inv_freq;  // [rotary_dim / 2], radians per position
  float scale = 1;              // multiplies cos and sin
};

// theta^(-2i/dim), i = 0 … dim/2 - 1. Su et al. 2021, RoFormer.
std::vector<float> PlainInverseFrequencies(double theta, int64_t rotary_dim);

// Frequencies as a Hugging Face config asks: `parameters` is its rope_scaling (or rope_parameters)
// object, null for none. Types default, linear, llama3, yarn; another one is kUnsupported by name.
Result<RopeFrequencies> ScaledFrequencies(const Json& parameters, double theta, int64_t rotary_dim,
                                          int64_t max_positions, const std::string& where);

}  // namespace hexlane

#endif  // HEXLANE_MODELS_ROPE_SCALING_H_
