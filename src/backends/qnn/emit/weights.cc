#include "backends/qnn/emit/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "base/transposed.h"
#include "kernels/pack/pack.h"

namespace hexlane::qnn {
namespace {

float ElementAsFloat(const TensorView& view, size_t i) {
  if (view.dtype == DType::kF32) return view.As<float>()[i];
  const uint16_t bits = view.As<uint16_t>()[i];
  return view.dtype == DType::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
}

}  // namespace

std::vector<float> ConstantFloats(const Value& value) {
  const TensorView& view = value.constant->view();
  std::vector<float> floats(static_cast<size_t>(view.shape.elements()));
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = ElementAsFloat(view, i);
  return floats;
}

std::vector<uint16_t> TransposedF16(const Value& value) {
  const TensorView& view = value.constant->view();
  std::vector<uint16_t> halves(static_cast<size_t>(view.shape.elements()));
  if (view.dtype == DType::kF16) {
    std::memcpy(halves.data(), view.bytes.data(), view.bytes.size());
  } else {
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = F32ToF16(ElementAsFloat(view, i));
  }
  return Transposed(halves.data(), view.shape[0], view.shape[1]);
}

QuantizedMatrix UnpackConstant(const Value& value) {
  return Unpack(value.constant->view(), 0, value.shape[0]);
}

QuantizedMatrix PerChannelInt8(const QuantizedMatrix& blocks) {
  QuantizedMatrix out;
  out.scheme = Scheme::kW8Channel;
  out.n = blocks.n;
  out.k = blocks.k;
  out.q.resize(blocks.q.size());
  std::vector<float> row(static_cast<size_t>(blocks.k));
  for (int64_t n = 0; n < blocks.n; ++n) {
    blocks.DequantizeRow(n, row.data());
    float max = 0;
    for (float w : row) max = std::max(max, std::abs(w));
    const float scale = max > 0 ? max / 127 : 1.0f;
    out.scales.push_back(scale);
    int8_t* q = &out.q[static_cast<size_t>(n * blocks.k)];
    for (size_t i = 0; i < row.size(); ++i) q[i] = static_cast<int8_t>(std::lrint(row[i] / scale));
  }
  return out;
}

namespace {

CentredBlocks FromLpbq(QuantizedMatrix matrix) {
  CentredBlocks out;
  const auto blocks = static_cast<size_t>(matrix.blocks());
  for (size_t i = 0; i < matrix.block_scales.size(); ++i)
    out.scales.push_back({matrix.scales[i / blocks] * matrix.block_scales[i], 0});
  out.q = std::move(matrix.q);
  return out;
}

CentredBlocks FromSymmetric(QuantizedMatrix matrix) {
  CentredBlocks out;
  for (const float scale : matrix.scales) out.scales.push_back({scale, 0});
  out.q = std::move(matrix.q);
  return out;
}

}  // namespace

CentredBlocks Centre(QuantizedMatrix matrix) {
  const ScaleKind kind = Info(matrix.scheme).scale;
  if (kind == ScaleKind::kInteger) return FromLpbq(std::move(matrix));
  if (kind == ScaleKind::kFloat) return FromSymmetric(std::move(matrix));
  CentredBlocks out;
  out.q = std::move(matrix.q);
  for (int8_t& q : out.q) q = static_cast<int8_t>(q - 8);
  bool symmetric = true;
  for (size_t i = 0; i < matrix.scales.size(); ++i) {
    out.scales.push_back({matrix.scales[i], 0});
    const float c = matrix.mins[i] + 8 * matrix.scales[i];
    symmetric &= c == 0;
    out.c.push_back(F32ToF16(c));
  }
  if (symmetric) out.c.clear();
  return out;
}

}  // namespace hexlane::qnn
