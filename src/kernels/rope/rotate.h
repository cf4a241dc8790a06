// Rotary embedding from tables, for the executor: cos and sin are computed once per run, not per
// layer.
#ifndef HEXLANE_KERNELS_ROPE_ROTATE_H_
#define HEXLANE_KERNELS_ROPE_ROTATE_H_

#include "kernels/rows.h"

namespace hexlane {

struct RopeTable {
  float* cos = nullptr;  // [rows, half], attention factor included
  float* sin = nullptr;
  int64_t half = 0;  // rotary_dim / 2
  int64_t head_dim = 0;
};

// Rotates rows first … end - 1 of x in place, as Rope (rope.h) does.
using RotateFn = void(Rows x, const RopeTable& table, int64_t first, int64_t end);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_ROPE_ROTATE_H_
