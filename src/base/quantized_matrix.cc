#include "base/quantized_matrix.h"

namespace hexlane {

void QuantizedMatrix::DequantizeRow(int64_t row, float* out) const {
  const SchemeInfo& info = Info(scheme);
  const int64_t block = info.block ? info.block : k;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t b = row * blocks() + i / block;
    const float value = static_cast<float>(q[row * k + i]);
    switch (info.scale) {
      case ScaleKind::kFloat: out[i] = value * scales[b]; break;
      case ScaleKind::kInteger:
        out[i] = value * (static_cast<float>(block_scales[b]) * scales[row]);
        break;
      case ScaleKind::kAffine: out[i] = value * scales[b] + mins[b]; break;
      case ScaleKind::kNone: break;
    }
  }
}

}  // namespace hexlane
