// Scales by search: the ones whose rounding errors cost least at the output, when every input
// channel counts by the energy that calibration saw in it. In the manner of llama.cpp's importance
// matrices and of SeqMSE (Edalati et al. 2025 search sequentially; here blocks are independent).
#ifndef HEXLANE_QUANT_ALGORITHM_SCALE_SEARCH_H_
#define HEXLANE_QUANT_ALGORITHM_SCALE_SEARCH_H_

#include <span>

#include "base/quantized_matrix.h"
#include "quant/weights.h"

namespace hexlane {

// `weights` in `scheme`, with scales (and minima) that make Σ importance · (w - ŵ)² least among
// candidates at and inside the range of the weights. importance: [k]. Errors as QuantizeWeights.
Result<QuantizedMatrix> SearchScales(const FloatMatrix& weights, Scheme scheme,
                                     std::span<const float> importance);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_ALGORITHM_SCALE_SEARCH_H_
