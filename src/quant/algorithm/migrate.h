// Scale migration: channels of a matrix's input are divided by factors that its columns, and what
// makes the input, take up: y = (W diag(s)) (diag(s)⁻¹ x). The network computes the same.
//   AWQ          factors that make the rounding of the weights cost least at the output.
//                Lin et al. 2023, "AWQ: Activation-aware Weight Quantization", eq. 4 and 5
//   SmoothQuant  factors that move half of the inputs' range into the weights.
//                Xiao et al. 2022, "SmoothQuant", eq. 4, with α = 0.5
#ifndef HEXLANE_QUANT_ALGORITHM_MIGRATE_H_
#define HEXLANE_QUANT_ALGORITHM_MIGRATE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/scheme.h"
#include "hexlane/status.h"
#include "ir/graph.h"
#include "quant/moments.h"
#include "quant/weights.h"

namespace hexlane {

class ThreadPool;

// The input of matrices that all multiply it.
struct MatrixInput {
  const Moments* moments = nullptr;
  std::vector<FloatMatrix> matrices;  // each [n, k]
  // Where channels must have the same factor: the group of each, [k]; empty: each its own.
  std::vector<int32_t> groups;
};

// Factors by channel: [k], positive, 1 where a channel is always 0.
std::vector<float> SmoothFactors(const MatrixInput& input);
// The best of a grid of powers of the channels' mean magnitudes, when the matrices are rounded by
// `scheme`. Errors as QuantizeWeights.
Result<std::vector<float>> AwqFactors(const MatrixInput& input, Scheme scheme, ThreadPool* pool);

struct MigrateArgs {
  bool awq = false;                         // otherwise SmoothQuant
  Scheme scheme = Scheme::kPlain;           // of the matrices, for AWQ
  const MomentsByValue* moments = nullptr;  // of every value that matrices multiply
  ThreadPool* pool = nullptr;
};

// Migrates scales wherever the input of matrices is made by what can take the factors up: a norm, a
// product with what a matrix gives (SwiGLU's up projection), or attention over values that a matrix
// gives (query heads that share values share factors). The weights concerned become float32.
// Ranges and moments seen before no longer hold for the unit.
Result<void> MigrateScales(Graph& unit, const MigrateArgs& args);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_ALGORITHM_MIGRATE_H_
