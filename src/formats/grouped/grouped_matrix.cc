#include "formats/grouped/grouped_matrix.h"

#include "formats/decode/decode.h"

namespace hexlane {
namespace {

// Whether scales are stored in float32, as base/scheme.h says of the whole row.
bool ScalesAreF32(Scheme scheme) { return Info(scheme).block == 0; }

}  // namespace

float GroupedMatrix::ScaleAt(int64_t row, int64_t group_index) const {
  const int64_t index = scales_transposed ? group_index * n + row : row * groups() + group_index;
  float value = 0;
  DecoderFor(scales.type)(scales.bytes.data() + index * Info(scales.type).block_bytes, 1, &value);
  return value;
}

int GroupedMatrix::ZeroAt(int64_t row, int64_t group_index) const {
  if (!zeros) return middle();
  return (zeros->At(row, group_index) + zero_bias) & ((1 << q.bits) - 1);
}

void GroupedMatrix::DequantizeRows(int64_t first, int64_t count, float* out) const {
  std::vector<float> scale(static_cast<size_t>(groups()));
  std::vector<int> zero(static_cast<size_t>(groups()));
  for (int64_t row = first; row < first + count; ++row, out += k) {
    for (int64_t g = 0; g < groups(); ++g) {
      scale[g] = ScaleAt(row, g);
      zero[g] = ZeroAt(row, g);
    }
    for (int64_t j = 0; j < k; ++j) {
      const int64_t g = group_of.empty() ? j / group : group_of[j];
      out[j] = static_cast<float>(q.At(row, j) - zero[g]) * scale[g];
    }
  }
}

bool GroupedMatrix::symmetric() const {
  for (int64_t row = 0; zeros && row < n; ++row)
    for (int64_t g = 0; g < groups(); ++g)
      if (ZeroAt(row, g) != middle()) return false;
  return true;
}

std::optional<Scheme> GroupedMatrix::kept_as() const {
  if (!group_of.empty()) return std::nullopt;
  const bool eight = q.bits == 8, plain = symmetric();
  if (eight && !plain) return std::nullopt;
  if (plain && groups() == 1) return eight ? Scheme::kW8Channel : Scheme::kW4Channel;
  const Scheme widest = eight   ? Scheme::kW8Block32
                        : plain ? Scheme::kW4Block128
                                : Scheme::kW4Affine128;
  const Scheme scheme = WithBlocksThatDivide(widest, group);
  if (group % Info(scheme).block != 0) return std::nullopt;
  return scheme;
}

QuantizedMatrix GroupedMatrix::Keep(Scheme scheme) const {
  QuantizedMatrix m = QuantizedMatrix::Zero(scheme, n, k);
  const bool affine = Info(scheme).scale == ScaleKind::kAffine;
  const int offset = affine ? 0 : middle();
  const int64_t block = ScalesAreF32(scheme) ? k : Info(scheme).block;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t j = 0; j < k; ++j) m.q[row * k + j] = static_cast<int8_t>(q.At(row, j) - offset);
    for (int64_t b = 0; b < m.blocks(); ++b) {
      const int64_t g = b * block / group, at = row * m.blocks() + b;
      const float scale = ScaleAt(row, g);
      m.scales[at] = ScalesAreF32(scheme) ? scale : RoundToF16(scale);
      if (affine) m.mins[at] = RoundToF16(-scale * static_cast<float>(ZeroAt(row, g)));
    }
  }
  return m;
}

}  // namespace hexlane
