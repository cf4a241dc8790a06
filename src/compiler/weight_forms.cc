#include "compiler/weight_forms.h"

#include <algorithm>
#include <cmath>

#include "backends/emitters.h"
#include "kernels/matmul/float.h"
#include "kernels/pack/pack.h"
#include "quant/float_rows.h"
#include "quant/matrix_scheme.h"
#include "quant/quantize_tensor.h"
#include "quant/quantize_unit.h"

namespace hexlane {
namespace {

Tensor SpreadRows(const TensorView& matrix) {
  const int64_t n = matrix.shape[0], k = matrix.shape[1];
  if (n <= kRowsLookedAt) return Tensor::FromFloats(FloatRows(matrix, 0, n), {n, k});
  std::vector<float> values;
  for (int64_t i = 0; i < kRowsLookedAt; ++i) {
    const std::vector<float> row = FloatRows(matrix, i * n / kRowsLookedAt, 1);
    values.insert(values.end(), row.begin(), row.end());
  }
  return Tensor::FromFloats(std::move(values), {kRowsLookedAt, k});
}

}  // namespace

double StoredBits(Scheme scheme, const Shape& shape) {
  if (scheme == Scheme::kPlain) return 16.0 * static_cast<double>(shape.elements());
  return 8.0 * static_cast<double>(PackedBytes(scheme, shape[0], shape[1]));
}

Result<FormTrials> FormTrials::Create(const TensorView& matrix, const Algorithm& algorithm,
                                      const Moments* moments, ThreadPool* pool) {
  FormTrials trials;
  trials.shape_ = matrix.shape;
  trials.rows_ = SpreadRows(matrix);
  trials.moments_ = moments;
  trials.pool_ = pool;
  trials.energy_ = trials.Energy(trials.rows_.floats());
  if (!moments) return trials;
  if (algorithm.search) trials.fit_.search = moments;
  if (algorithm.gptq) trials.gptq_ = TRY(Gptq::Create(*moments));
  return trials;
}

Result<WeightForm> FormTrials::Try(Scheme scheme) const {
  WeightFit fit = fit_;
  if (gptq_) fit.gptq = &*gptq_;
  return WeightForm{
      .scheme = scheme, .bits = StoredBits(scheme, shape_), .error = TRY(ErrorOf(scheme, fit))};
}

Result<double> FormTrials::NearestError(Scheme scheme) const { return ErrorOf(scheme, {}); }

Result<double> FormTrials::ErrorOf(Scheme scheme, const WeightFit& fit) const {
  const QuantizedTensor rounded = TRY(QuantizeTensor(rows_.view(), scheme, "weights", pool_, fit));
  std::vector<float> error = FloatRows(rounded.tensor.view(), 0, rows_.shape()[0]);
  for (size_t i = 0; i < error.size(); ++i) error[i] -= rows_.floats()[i];
  return energy_ > 0 ? Energy(error) / energy_ : 0;
}

// tr(E H Eᵀ), or |E|².
double FormTrials::Energy(std::span<const float> rows) const {
  std::vector<float> product(rows.begin(), rows.end());
  if (moments_) {
    const int64_t n = rows_.shape()[0], k = rows_.shape()[1];
    std::ranges::fill(product, 0.0f);
    AddProduct({rows.data(), n, k}, {moments_->sum().data(), k, k}, {product.data(), n, k}, pool_);
  }
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) sum += double{rows[i]} * product[i];
  return std::max(sum, 0.0);
}

std::vector<Scheme> AllForms() {
  std::vector<Scheme> forms(AllSchemes().begin(), AllSchemes().end());
  forms.push_back(Scheme::kPlain);
  return forms;
}

Result<NpuForms> NpuForms::Create(const QuantOptions& options,
                                  std::span<const Target* const> targets) {
  NpuForms forms;
  forms.options_ = options;
  forms.targets_.assign(targets.begin(), targets.end());
  forms.emitter_ = TRY(NewEmitter("qnn"));
  return forms;
}

bool NpuForms::Takes(const Graph& sketch, const Node& node) const {
  const auto takes = [&](const Target* target) { return !emitter_->Refuses(sketch, node, target); };
  if (!targets_.empty()) return std::ranges::all_of(targets_, takes);
  return std::ranges::any_of(AllTargets(), [&](const Target& target) { return takes(&target); });
}

Result<Graph> NpuForms::Sketch(const Graph& unit, Scheme form) const {
  QuantOptions options = options_;
  for (const Node& node : unit.nodes())
    if (HasMatrix(node))
      options.overrides.SetWeights(MatrixNameOf(unit, node, options.algorithm.rotate), form);
  Graph sketch = unit;
  TRY(SketchUnit(sketch, options));
  return sketch;
}

Result<std::map<std::string, std::set<Scheme>>> NpuForms::Refused(const Graph& unit) const {
  Graph plain = unit;
  TRY(SketchUnit(plain, options_));
  std::map<std::string, std::set<Scheme>> refused;
  for (const Scheme form : AllForms()) {
    const Graph sketch = TRY(Sketch(unit, form));
    for (size_t i = 0; i < unit.nodes().size(); ++i) {
      const Node& node = sketch.nodes()[i];
      if (node.op != OpKind::kLinear || Takes(sketch, node)) continue;
      if (Takes(plain, plain.nodes()[i])) refused[sketch.value(node.inputs[1]).name].insert(form);
    }
  }
  return refused;
}

}  // namespace hexlane
