// Rotation from tables in vectors; included by vector/*.cc.
#include "kernels/rope/rotate.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

inline void RotateBody(Rows x, const RopeTable& table, int64_t first, int64_t end) {
  for (int64_t r = first; r < end; ++r) {
    const float* cos = table.cos + r * table.half;
    const float* sin = table.sin + r * table.half;
    for (int64_t c = 0; c < x.dim; c += table.head_dim) {
      float* low = x.row(r) + c;
      float* high = low + table.half;
      for (int64_t i = 0; i < table.half; i += kLanes) {
        const int64_t left = table.half - i;
        const F32 a = LoadPart(low + i, left), b = LoadPart(high + i, left);
        const F32 co = LoadPart(cos + i, left), si = LoadPart(sin + i, left);
        StorePart(low + i, Sub(Mul(a, co), Mul(b, si)), left);
        StorePart(high + i, Fma(b, co, Mul(a, si)), left);
      }
    }
  }
}

}  // namespace
}  // namespace hexlane
