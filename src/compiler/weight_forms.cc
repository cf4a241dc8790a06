#include "compiler/weight_forms.h"

#include <algorithm>
#include <cmath>

#include "backends/emitters.h"
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

Result<WeightForm> TryForm(const TensorView& matrix, Scheme scheme, bool searches,
                           ThreadPool* pool) {
  const Tensor rows = SpreadRows(matrix);
  const QuantizedTensor quantized =
      TRY(QuantizeTensor(rows.view(), scheme, "weights", pool, {.search_evenly = searches}));
  return WeightForm{.scheme = scheme,
                    .bits = StoredBits(scheme, matrix.shape),
                    .error = quantized.snr_db ? std::pow(10, -*quantized.snr_db / 10) : 0};
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
