#include "base/quantized_matrix.h"

#include <algorithm>

namespace hexlane {
namespace {

QuantizedMatrix::Affine BlockAffine(const QuantizedMatrix& m, int64_t row, int64_t b) {
  switch (Info(m.scheme).scale) {
    case ScaleKind::kFloat: return {m.scales[b]};
    case ScaleKind::kInteger: return {static_cast<float>(m.block_scales[b]) * m.scales[row]};
    case ScaleKind::kAffine: return {m.scales[b], m.mins[b]};
    case ScaleKind::kNone: break;
  }
  return {};
}

}  // namespace

QuantizedMatrix QuantizedMatrix::Empty(Scheme scheme, int64_t n, int64_t k) {
  QuantizedMatrix m;
  m.scheme = scheme;
  m.n = n;
  m.k = k;
  const ScaleKind kind = Info(scheme).scale;
  const int64_t blocks = n * m.blocks();
  m.scales.resize(kind == ScaleKind::kInteger ? n : blocks);
  if (kind == ScaleKind::kInteger) m.block_scales.resize(blocks);
  if (kind == ScaleKind::kAffine) m.mins.resize(blocks);
  return m;
}

QuantizedMatrix QuantizedMatrix::Zero(Scheme scheme, int64_t n, int64_t k) {
  QuantizedMatrix m = Empty(scheme, n, k);
  m.q.resize(n * k);
  return m;
}

QuantizedMatrix::Affine QuantizedMatrix::AffineOf(int64_t row, int64_t column) const {
  const int block = Info(scheme).block;
  return BlockAffine(*this, row, row * blocks() + (block == 0 ? 0 : column / block));
}

void QuantizedMatrix::DequantizeRow(int64_t row, float* out) const {
  const int64_t block = Info(scheme).block ? Info(scheme).block : k;
  const int8_t* row_q = q.data() + row * k;
  for (int64_t b = 0; b < blocks(); ++b) {
    const Affine by = BlockAffine(*this, row, row * blocks() + b);
    const int64_t end = std::min(k, (b + 1) * block);
    for (int64_t i = b * block; i < end; ++i)
      out[i] = static_cast<float>(row_q[i]) * by.scale + by.min;
  }
}

}  // namespace hexlane
