// Rotation: hidden states and attention's values in another orthonormal basis, in which no channel
// is much larger than the rest. The network computes the same; only its weights change.
// Ashkboos et al. 2024, "QuaRot: Outlier-Free 4-Bit Inference in Rotated LLMs"; the names R1 and R2
// of Liu et al. 2024, "SpinQuant: LLM Quantization with Learned Rotations".
#ifndef HEXLANE_QUANT_ALGORITHM_ROTATE_H_
#define HEXLANE_QUANT_ALGORITHM_ROTATE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hexlane/status.h"
#include "ir/graph.h"

namespace hexlane {

class ThreadPool;

// x → x Q with Q = S (H ⊗ O): random signs S, the Walsh-Hadamard matrix H of the largest power of
// two that divides the dimension, a random orthogonal O of what is left. The same for the same
// dimension on every machine.
class Rotation {
 public:
  explicit Rotation(int64_t dim);

  int64_t dim() const { return static_cast<int64_t>(signs_.size()); }
  // Rotates x [dim] in place.
  void Apply(std::span<float> x) const;

 private:
  int64_t odd_ = 1;            // dimension of O
  std::vector<float> signs_;   // [dim]
  std::vector<float> factor_;  // O, row-major
};

// Rotates a decoder's unit as built, with its weights in plain form: hidden states by R1 (every
// unit by the same), the values of attention by R2, head by head. Norms that hidden states go
// through have weights of 1 afterwards, theirs being in the matrices that follow. A head that was
// tied to the embedding table is its own matrix then, "lm_head.weight".
// kUnsupported names what stands between a hidden state and the matrices.
Result<void> RotateUnit(Graph& unit, ThreadPool* pool);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_ALGORITHM_ROTATE_H_
