// Reverse-mode derivatives of the ops: from the gradient of a number at what an op gives (`dy`),
// that at what it took. Every function adds to its results.
#ifndef HEXLANE_INTERP_GRADIENT_OPS_H_
#define HEXLANE_INTERP_GRADIENT_OPS_H_

#include <cstdint>
#include <span>

#include "kernels/attention/attention.h"
#include "kernels/rope/rope.h"
#include "kernels/rows.h"

namespace hexlane {

class ThreadPool;

// y = x wᵀ: dx += dy w. dy: [rows, n], w: [n, k], dx: [rows, k].
void AddLinearInput(ConstRows dy, ConstRows w, Rows dx, ThreadPool* pool);
// y = x wᵀ: dw += dyᵀ x. dy: [rows, n], x: [rows, k], dw: [n, k].
void AddLinearWeight(ConstRows dy, ConstRows x, Rows dw, ThreadPool* pool);
// y = … + bias: db[j] += Σ_r dy[r, j].
void AddLinearBias(ConstRows dy, std::span<float> db);

struct RmsNormCall {
  ConstRows x, dy;           // [rows, dim]
  std::span<const float> w;  // [dim], or of each chunk of the row
  float eps = 0;
};
// With r = 1 / sqrt(mean(x²) + eps) of each chunk of n = len(w):
//   dx += r (w dy - x r² Σ(w dy x) / n),  dw += Σ dy x r over rows and chunks
void AddRmsNormInput(const RmsNormCall& call, Rows dx);
void AddRmsNormWeight(const RmsNormCall& call, std::span<float> dw);

// The rotation by the opposite angle. dy, dx: [rows, heads * head_dim].
void AddRope(ConstRows dy, const RopeArgs& args, Rows dx);

// For args without cached positions or callbacks: P = softmax(scale · q kᵀ) is made anew, one head
// at a time, [rows, rows].
//   dv += Pᵀ dy,  dS = P ∘ (dy vᵀ - Σ_k P ∘ dy vᵀ),  dq += scale · dS k,  dk += scale · dSᵀ q
// A softcap multiplies dS by 1 - (capped / softcap)².
struct AttentionGradients {
  Rows dq;  // [rows, heads * head_dim]
  Rows dk;  // [rows, kv_heads * head_dim]
  Rows dv;
};
void AddAttention(const AttentionArgs& args, ConstRows dy, const AttentionGradients& out,
                  ThreadPool* pool);

// y = a · b: da += dy b
void AddMul(std::span<const float> dy, std::span<const float> b, std::span<float> da);
// y = a σ(a): da += dy σ(a) (1 + a (1 - σ(a)))
void AddSilu(std::span<const float> dy, std::span<const float> a, std::span<float> da);

}  // namespace hexlane

#endif  // HEXLANE_INTERP_GRADIENT_OPS_H_
