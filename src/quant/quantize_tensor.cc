#include "quant/quantize_tensor.h"

#include <algorithm>
#include <cmath>

#include "base/encoding.h"
#include "kernels/pack/pack.h"
#include "quant/weights.h"

namespace hexlane {
namespace {

constexpr int64_t kRowsAtOnce = 2048;
constexpr float kMaxF16 = 65504;

// Signal and error energy, for the signal-to-noise ratio.
struct Energy {
  double signal = 0, error = 0;

  void Add(float want, float got) {
    signal += static_cast<double>(want) * want;
    const double difference = static_cast<double>(got) - want;
    error += difference * difference;
  }
  std::optional<double> snr_db() const {
    if (error == 0) return std::nullopt;
    return 10 * std::log10(signal / error);
  }
};

// Rows first … first + count - 1 as float32, whatever the form.
std::vector<float> ReadRows(const TensorView& weight, int64_t first, int64_t count) {
  const int64_t k = weight.shape.last();
  std::vector<float> values(static_cast<size_t>(count * k));
  if (weight.scheme != Scheme::kPlain) {
    DequantizeRows(weight, first, count, values.data());
    return values;
  }
  const size_t row_bytes = static_cast<size_t>(k) * DTypeBytes(weight.dtype);
  DecodeValues(weight.bytes.subspan(first * row_bytes, count * row_bytes), {.dtype = weight.dtype},
               values);
  return values;
}

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void AppendRows(QuantizedMatrix& to, const QuantizedMatrix& from) {
  to.n += from.n;
  Append(to.q, from.q);
  Append(to.scales, from.scales);
  Append(to.block_scales, from.block_scales);
  Append(to.mins, from.mins);
}

void AddRows(Energy& energy, const FloatMatrix& want, const QuantizedMatrix& got) {
  std::vector<float> row(static_cast<size_t>(want.k));
  for (int64_t i = 0; i < want.n; ++i) {
    got.DequantizeRow(i, row.data());
    for (int64_t j = 0; j < want.k; ++j) energy.Add(want.row(i)[j], row[j]);
  }
}

Result<void> CheckFitsF16(const FloatMatrix& weights) {
  const auto bad = std::ranges::find_if(weights.values,
                                        [](float value) { return !(std::abs(value) <= kMaxF16); });
  if (bad == weights.values.end()) return {};
  const int64_t i = bad - weights.values.begin();
  return InvalidInput("a weight does not fit into float16")
      .At("{}: row {}, column {}", weights.name, weights.first_row + i / weights.k, i % weights.k)
      .Want("a finite value up to {}", kMaxF16)
      .Got("{}", *bad);
}

// Calls body(rows as a FloatMatrix) for all rows, a chunk at a time.
template <typename Body>
Result<void> ForEachChunk(const TensorView& weight, std::string_view name, const Body& body) {
  const int64_t n = weight.shape[0];
  for (int64_t first = 0; first < n; first += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, n - first);
    const std::vector<float> values = ReadRows(weight, first, count);
    TRY(body(FloatMatrix{values, count, weight.shape[1], name, first}));
  }
  return {};
}

Result<QuantizedTensor> ToF16(const TensorView& weight, std::string_view name) {
  std::vector<uint16_t> halves;
  halves.reserve(static_cast<size_t>(weight.shape.elements()));
  Energy energy;
  TRY(ForEachChunk(weight, name, [&](const FloatMatrix& rows) -> Result<void> {
    TRY(CheckFitsF16(rows));
    for (float value : rows.values) {
      halves.push_back(F32ToF16(value));
      energy.Add(value, F16ToF32(halves.back()));
    }
    return {};
  }));
  return QuantizedTensor{Tensor::FromVector(std::move(halves), weight.shape, DType::kF16),
                         energy.snr_db()};
}

}  // namespace

Result<QuantizedTensor> QuantizeTensor(const TensorView& weight, Scheme scheme,
                                       std::string_view name, ThreadPool* pool) {
  CHECK(weight.shape.rank() == 2);
  if (scheme == Scheme::kPlain) return ToF16(weight, name);
  QuantizedMatrix matrix;
  matrix.scheme = scheme;
  matrix.k = weight.shape[1];
  Energy energy;
  TRY(ForEachChunk(weight, name, [&](const FloatMatrix& rows) -> Result<void> {
    const QuantizedMatrix part = TRY(QuantizeWeights(rows, scheme, {.pool = pool}));
    AddRows(energy, rows, part);
    AppendRows(matrix, part);
    return {};
  }));
  return QuantizedTensor{Pack(matrix), energy.snr_db()};
}

Result<Tensor> RoundVectorToF16(const TensorView& vector, std::string_view name) {
  std::vector<float> values(static_cast<size_t>(vector.shape.elements()));
  DecodeValues(vector.bytes, {.dtype = vector.dtype}, values);
  TRY(CheckFitsF16({values, 1, static_cast<int64_t>(values.size()), name}));
  FakeQuantize(values, {.dtype = DType::kF16});
  return Tensor::FromFloats(std::move(values), vector.shape);
}

}  // namespace hexlane
