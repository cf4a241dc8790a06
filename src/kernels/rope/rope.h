#ifndef HEXLANE_KERNELS_ROPE_ROPE_H_
#define HEXLANE_KERNELS_ROPE_ROPE_H_

#include "kernels/rows.h"

namespace hexlane {

struct RopeArgs {
  int64_t head_dim = 0;
  std::span<const float>
      inv_freq;                // [rotary_dim / 2], radians per position; rotary_dim <= head_dim
  int64_t first_position = 0;  // of row 0; row r is at first_position + r
  float attention_factor = 1;  // multiplies cos and sin (YaRN)
};

// Rotates each head of each row by its position; x, y: [rows, heads * head_dim], may be the same
// memory. With h = rotary_dim / 2, a = position · inv_freq[i]:
//   y[i] = x[i] cos a - x[i+h] sin a,  y[i+h] = x[i+h] cos a + x[i] sin a,  columns from rotary_dim
//   on are copied.
// This is the rotate-half order of Hugging Face (and GPT-NeoX), not the interleaved order of the
// RoFormer paper.
void Rope(ConstRows x, const RopeArgs& args, Rows y);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_ROPE_ROPE_H_
