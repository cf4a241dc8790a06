#include "quant/quantize_tensor.h"

#include <algorithm>
#include <cmath>

#include "base/encoding.h"
#include "base/thread_pool.h"
#include "kernels/pack/pack.h"
#include "quant/algorithm/gptq.h"
#include "quant/algorithm/scale_search.h"
#include "quant/float_rows.h"
#include "quant/weights.h"

namespace hexlane {
namespace {

constexpr int64_t kRowsAtOnce = 4 * kStripRows;  // whole strips: threads share none
constexpr float kMaxF16 = 65504;

// Signal and error energy, for the signal-to-noise ratio.
struct Energy {
  double signal = 0, error = 0;

  void Add(float want, float got) {
    signal += static_cast<double>(want) * want;
    const double difference = static_cast<double>(got) - want;
    error += difference * difference;
  }
  void Add(const Energy& other) {
    signal += other.signal;
    error += other.error;
  }
  std::optional<double> snr_db() const {
    if (error == 0) return std::nullopt;
    return 10 * std::log10(signal / error);
  }
};

// Of all rows; `shift` [n] is QuantizedTensor's of these rows where there is a `mean` [k].
Energy Compare(const FloatMatrix& want, const QuantizedMatrix& got, std::span<const float> mean,
               float* shift) {
  Energy energy;
  std::vector<float> row(static_cast<size_t>(want.k));
  for (int64_t i = 0; i < want.n; ++i) {
    got.DequantizeRow(i, row.data());
    for (int64_t j = 0; j < want.k; ++j) energy.Add(want.row(i)[j], row[j]);
    if (mean.empty()) continue;
    double sum = 0;
    for (int64_t j = 0; j < want.k; ++j)
      sum += (static_cast<double>(want.row(i)[j]) - row[j]) * mean[j];
    shift[i] = static_cast<float>(sum);
  }
  return energy;
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

// Calls body(rows as a FloatMatrix) for all rows, some at a time and on several threads; it returns
// their Energy. The sum, and of several errors the one that is returned, do not depend on threads.
template <typename Body>
Result<Energy> ForEachChunk(const TensorView& weight, std::string_view name, ThreadPool* pool,
                            const Body& body) {
  const int64_t n = weight.shape[0];
  const int64_t chunks = (n + kRowsAtOnce - 1) / kRowsAtOnce;
  std::vector<Result<Energy>> results(static_cast<size_t>(chunks));
  const auto work = [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * kRowsAtOnce;
      const int64_t count = std::min(kRowsAtOnce, n - first);
      const std::vector<float> values = FloatRows(weight, first, count);
      results[chunk] = body(FloatMatrix{values, count, weight.shape[1], name, first});
    }
  };
  ParallelFor(pool, chunks, 1, work);
  Energy sum;
  for (Result<Energy>& result : results) sum.Add(TRY(std::move(result)));
  return sum;
}

Result<QuantizedTensor> ToF16(const TensorView& weight, std::string_view name, ThreadPool* pool) {
  std::vector<uint16_t> halves(static_cast<size_t>(weight.shape.elements()));
  const Energy energy =
      TRY(ForEachChunk(weight, name, pool, [&](const FloatMatrix& rows) -> Result<Energy> {
        TRY(CheckFitsF16(rows));
        Energy sum;
        uint16_t* half = halves.data() + rows.first_row * rows.k;
        for (const float value : rows.values) {
          *half = F32ToF16(value);
          sum.Add(value, F16ToF32(*half++));
        }
        return sum;
      }));
  return QuantizedTensor{
      Tensor::FromVector(std::move(halves), weight.shape, DType::kF16), energy.snr_db(), {}};
}

}  // namespace

Result<QuantizedTensor> QuantizeTensor(const TensorView& weight, Scheme scheme,
                                       std::string_view name, ThreadPool* pool,
                                       const WeightFit& fit) {
  CHECK(weight.shape.rank() == 2);
  if (scheme == Scheme::kPlain) return ToF16(weight, name, pool);
  std::vector<float> importance;
  if (fit.search_evenly) importance.assign(static_cast<size_t>(weight.shape[1]), 1);
  if (fit.search) importance = fit.search->MeanSquares();
  const std::vector<float> mean = fit.mean ? fit.mean->Means() : std::vector<float>();
  std::vector<float> shift(fit.mean ? static_cast<size_t>(weight.shape[0]) : 0);
  Packer packer(scheme, weight.shape[0], weight.shape[1]);
  const Energy energy =
      TRY(ForEachChunk(weight, name, pool, [&](const FloatMatrix& rows) -> Result<Energy> {
        QuantizedMatrix part = TRY(importance.empty() ? QuantizeWeights(rows, scheme)
                                                      : SearchScales(rows, scheme, importance));
        if (fit.gptq) fit.gptq->Round(rows, part);
        packer.Store(part, rows.first_row);
        return Compare(rows, part, mean, shift.data() + rows.first_row);
      }));
  return QuantizedTensor{std::move(packer).Finish(), energy.snr_db(), std::move(shift)};
}

Result<std::optional<double>> SnrDbOf(const TensorView& packed, const RowReader& stored,
                                      ThreadPool* pool) {
  const Energy energy =
      TRY(ForEachChunk(packed, "", pool, [&](const FloatMatrix& got) -> Result<Energy> {
        std::vector<float> want(got.values.size());
        TRY(stored(got.first_row, want));
        Energy sum;
        for (size_t i = 0; i < want.size(); ++i) sum.Add(want[i], got.values[i]);
        return sum;
      }));
  return energy.snr_db();
}

Result<Tensor> RoundVectorToF16(const TensorView& vector, std::string_view name) {
  std::vector<float> values(static_cast<size_t>(vector.shape.elements()));
  DecodeValues(vector.bytes, {.dtype = vector.dtype}, values);
  TRY(CheckFitsF16({values, 1, static_cast<int64_t>(values.size()), name}));
  FakeQuantize(values, {.dtype = DType::kF16});
  return Tensor::FromFloats(std::move(values), vector.shape);
}

}  // namespace hexlane
