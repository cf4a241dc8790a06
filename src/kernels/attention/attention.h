// Causal attention in float32 over the keys seen before and the new ones. The executor's fast
// kernels on a float16 cache are in cached.h.
#ifndef HEXLANE_KERNELS_ATTENTION_ATTENTION_H_
#define HEXLANE_KERNELS_ATTENTION_ATTENTION_H_

#include <functional>

#include "kernels/rows.h"

namespace hexlane {

class ThreadPool;

struct AttentionArgs {
  ConstRows q;               // [rows, heads * head_dim]; row r is at position past_k.rows + r
  ConstRows k, v;            // [rows, kv_heads * head_dim], the new keys and values
  ConstRows past_k, past_v;  // [past, kv_heads * head_dim], positions 0..past-1; may be empty
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads; query head h reads kv head h / (heads / kv_heads)
  int64_t head_dim = 0;
  float scale = 1;     // usually 1 / sqrt(head_dim)
  int64_t window = 0;  // 0: none; otherwise position p sees keys p-window+1..p
  float softcap = 0;   // 0: none; otherwise scores become softcap · tanh(score / softcap)

  // Called for each (row, head) with the visible keys' scores (scaled and capped) before softmax,
  // and with their probabilities after; may change them. With a pool they are called from several
  // threads at once. May be empty.
  std::function<void(std::span<float>)> on_scores, on_probabilities;
};

// out [rows, heads * head_dim] = softmax(scale · q kᵀ) v per head. `out` must not alias the inputs.
void Attention(const AttentionArgs& args, Rows out, ThreadPool* pool = nullptr);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_ATTENTION_ATTENTION_H_
