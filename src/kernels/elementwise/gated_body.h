// silu(gate) · up in vectors; included by vector/*.cc.
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

inline void SiluMulBody(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const F32 g = LoadPart(gate + i, n - i);
    const F32 silu = Div(g, Add(Set(1), Exp(Sub(Set(0), g))));
    StorePart(y + i, Mul(silu, LoadPart(up + i, n - i)), n - i);
  }
}

}  // namespace
}  // namespace hexlane
