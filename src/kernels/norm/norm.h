#ifndef HEXLANE_KERNELS_NORM_NORM_H_
#define HEXLANE_KERNELS_NORM_NORM_H_

#include "kernels/rows.h"

namespace hexlane {

// y = x · w / sqrt(mean(x²) + eps), each row by itself. x, y: [rows, dim], may be the same memory.
// w: [dim], or [dim / heads]: then every chunk of w.size() columns is normalised by itself
// (per-head norm). Zhang & Sennrich 2019, eq. 4.
void RmsNorm(ConstRows x, std::span<const float> w, float eps, Rows y);

using RmsNormFn = void(ConstRows x, std::span<const float> w, float eps, Rows y);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_NORM_NORM_H_
