#include "quant/quantize_unit.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>

#include "interp/interpreter.h"
#include "kernels/pack/pack.h"
#include "op/dims.h"
#include "quant/algorithm/gptq.h"
#include "quant/float_rows.h"
#include "quant/matrix_scheme.h"
#include "quant/quantize_tensor.h"

namespace hexlane {
namespace {

// What decides a value's encoding besides its range.
enum class Role : uint8_t {
  kPlain,
  kFlexible,  // may be F16 among integer values: no op that reads it minds
  kCache,
  kScores,
  kLogits,
  kResidual,
};

// An integer step larger than this share of the mean magnitude drowns the ordinary values of a
// tensor whose range is set by a few outliers: such a value stays in F16. Of 8 bits less is asked.
constexpr double CoarseStep(DType dtype) { return dtype == DType::kU8 ? 0.5 : 1.0 / 128; }

struct ValuePlan {
  Role role = Role::kPlain;
  ValueId range_of = kNone;  // whose range counts; a cache's: the value that is appended to it
};

// Ops that backends run on a mixture of F16 and integer values.
bool Mixes(OpKind op) {
  return op == OpKind::kLinear || op == OpKind::kRmsNorm || op == OpKind::kAdd ||
         op == OpKind::kMul || op == OpKind::kSilu;
}

void FindFlexible(const Graph& unit, std::vector<ValuePlan>& plans) {
  for (const Node& node : unit.nodes())
    if (Mixes(node.op)) plans[node.outputs[0]].role = Role::kFlexible;
  for (const Node& node : unit.nodes()) {
    if (Mixes(node.op)) continue;
    for (const ValueId id : node.inputs) plans[id].role = Role::kPlain;
  }
}

// By ValueId. The residual stream is what enters a unit and what sums and embeddings give.
// Attention(q, k, v, past_k, past_v, past_len) → (out, scores).
std::vector<ValuePlan> PlanValues(const Graph& unit) {
  std::vector<ValuePlan> plans(unit.values().size());
  for (size_t i = 0; i < plans.size(); ++i) plans[i].range_of = static_cast<ValueId>(i);
  FindFlexible(unit, plans);
  for (const ValueId id : unit.inputs())
    if (!IsPast(unit.value(id).shape)) plans[id].role = Role::kResidual;
  for (const Node& node : unit.nodes()) {
    if (node.op == OpKind::kAdd || node.op == OpKind::kEmbedding)
      plans[node.outputs[0]].role = Role::kResidual;
    if (IsLogits(unit, node)) plans[node.outputs[0]].role = Role::kLogits;
    if (node.op != OpKind::kAttention) continue;
    for (const int input : {1, 2, 3, 4})
      plans[node.inputs[input]] = {Role::kCache, node.inputs[input < 3 ? input : input - 2]};
    plans[node.outputs[1]].role = Role::kScores;
  }
  return plans;
}

// What the scheme alone makes a value of a role.
DType OwnDType(Role role, const QuantOptions& options) {
  if (!options.scheme->needs_calibration() || role == Role::kResidual) return DType::kF16;
  if (role == Role::kCache) return options.kv_bits == 8 ? DType::kU8 : DType::kU16;
  const bool wide = role == Role::kLogits || role == Role::kScores;
  return wide ? DType::kU16 : options.scheme->activations;
}

// What of the calibrated range an integer encoding is to hold.
MinMax KeptOf(const ActivationRange& range, Role role, DType dtype, const RangeRule& observer) {
  if (role != Role::kScores)
    return range.Chosen(observer, {.bits = static_cast<int>(8 * DTypeBytes(dtype)),
                                   .symmetric = role == Role::kCache});
  // Only their extremes were seen, and softmax lives on the greatest: no rule shortens it.
  MinMax kept = range.with_zero();
  kept.min -= kMaskMargin;
  return kept;
}

Encoding FitEncoding(const ActivationRange& range, Role role, DType dtype,
                     const RangeRule& observer) {
  const MinMax kept = KeptOf(range, role, dtype, observer);
  return role == Role::kCache ? SymmetricEncoding(kept.max_abs(), dtype)
                              : AsymmetricEncoding(kept, dtype);
}

// The largest magnitude of a symmetric encoding that holds `range`, whose lowest integer may lie a
// step further from zero than its highest.
float MaxAbsOnGrid(const MinMax& range, DType dtype) {
  const auto top = static_cast<float>(RangeOf(dtype).max / 2);
  return std::max(range.max, -range.min * top / (top + 1));
}

// Of a fixed range.
Encoding EncodingOf(const MinMax& range, Role role, DType dtype) {
  if (role == Role::kCache) return SymmetricEncoding(MaxAbsOnGrid(range, dtype), dtype);
  return AsymmetricEncoding(range, dtype);
}

Result<const ActivationRange*> FindRange(const Value& value, const QuantizeArgs& args) {
  static constexpr ActivationRange kOrdinary = {.min = -1, .max = 1, .sum_abs = 0.5, .count = 1};
  if (args.sketch) return &kOrdinary;
  if (args.ranges) {
    const auto it = args.ranges->find(value.name);
    if (it != args.ranges->end()) return &it->second;
  }
  return InvalidInput("'{}' was not seen in calibration", value.name);
}

ValueReport::Seen SeenBy(const ActivationRange& range, const Encoding& encoding, Role role) {
  return {.min = range.min,
          .max = range.max,
          .mean_abs = range.mean_abs(),
          .count = range.count,
          .clipped = range.ShareOutside(HeldBy(encoding)),
          .constant = range.constant(),
          .same_rows = range.rows.same(),
          .extremes_only = role == Role::kScores};
}

// `seen` is what calibration saw; null where nothing depends on it.
Encoding ChooseEncoding(const ActivationRange* seen, Role role, const TensorOverride& by,
                        const QuantOptions& options) {
  const DType dtype = by.activations.value_or(OwnDType(role, options));
  if (dtype == DType::kF16) return {.dtype = DType::kF16};
  if (by.range) return EncodingOf(*by.range, role, dtype);
  const Encoding encoding = FitEncoding(*seen, role, dtype, options.observer);
  const bool may_be_float = role == Role::kFlexible && !by.activations;
  if (may_be_float && encoding.scale > CoarseStep(dtype) * seen->mean_abs())
    return {.dtype = DType::kF16};
  return encoding;
}

Result<ValueReport> EncodeActivation(Value& value, const ValuePlan& plan, const Value& range_of,
                                     const QuantizeArgs& args) {
  static const TensorOverride kNothing;
  const TensorOverride* found = args.options.overrides.OfValue(range_of.name);
  const TensorOverride& by = found ? *found : kNothing;
  const bool is_own_integer = by.activations && *by.activations != DType::kF16 && !by.range;
  const ActivationRange* seen = nullptr;
  if (args.options.scheme->needs_calibration() || is_own_integer)
    seen = TRY(FindRange(range_of, args));
  value.encoding = ChooseEncoding(seen, plan.role, by, args.options);
  ValueReport report{.name = value.name, .encoding = {}, .seen = {}, .rule = by.rule};
  if (seen) report.seen = SeenBy(*seen, *value.encoding, plan.role);
  report.encoding = *value.encoding;
  return report;
}

Result<void> EncodeActivations(Graph& unit, const QuantizeArgs& args, UnitReport& report) {
  const std::vector<ValuePlan> plans = PlanValues(unit);
  for (size_t i = 0; i < plans.size(); ++i) {
    Value& value = unit.value(static_cast<ValueId>(i));
    if (value.constant || value.dtype != DType::kF32) continue;
    const Value& range_of = unit.value(plans[i].range_of);
    report.values.push_back(TRY(EncodeActivation(value, plans[i], range_of, args)));
  }
  return {};
}

// Bytes that are 0 and take no memory until somebody touches them.
Tensor BlankMatrix(const Shape& shape, Scheme scheme) {
  const bool plain = scheme == Scheme::kPlain;
  const size_t size = plain ? static_cast<size_t>(shape.elements()) * DTypeBytes(DType::kF16)
                            : PackedBytes(scheme, shape[0], shape[1]);
  const std::shared_ptr<void> owner(std::calloc(size, 1), std::free);
  if (!owner) throw std::bad_alloc();
  const std::span bytes(static_cast<const std::byte*>(owner.get()), size);
  return Tensor({bytes, shape, plain ? DType::kF16 : DType::kI8, scheme}, owner);
}

// Gptq by the value that matrices multiply: several multiply the same.
using GptqByValue = std::map<std::string, Gptq, std::less<>>;

// For matrices that multiply `input`, whose moments these are.
Result<WeightFit> FitFor(const Value& input, const Moments& moments, const Algorithm& algorithm,
                         GptqByValue& gptqs) {
  WeightFit fit;
  if (algorithm.search) fit.search = &moments;
  if (algorithm.bias) fit.mean = &moments;
  if (!algorithm.gptq) return fit;
  auto gptq = gptqs.find(input.name);
  if (gptq == gptqs.end()) {
    Result<Gptq> made = Gptq::Create(moments);
    if (!made) {
      made.error().where = input.name;
      return Failure(std::move(made).error());
    }
    gptq = gptqs.emplace(input.name, *std::move(made)).first;
  }
  fit.gptq = &gptq->second;
  return fit;
}

// Of what the matrix of a node is rounded for; null: for no input. Nothing multiplies a table, but
// one that is the head too is rounded as the head.
Result<const Moments*> MomentsFor(const Graph& unit, const Node& node, Scheme scheme,
                                  const QuantizeArgs& args) {
  if (IsVocabulary(unit, node) && !IsCoarse(scheme)) return nullptr;
  if (node.op == OpKind::kEmbedding) return args.head_inputs;
  if (IsVocabulary(unit, node) && !args.options.lone_table) return nullptr;
  const std::string& input = unit.value(node.inputs[0]).name;
  const auto found = args.moments ? args.moments->find(input) : MomentsByValue::const_iterator();
  if (args.moments && found != args.moments->end()) return &found->second;
  return InvalidInput("'{}' was not seen in calibration", input);
}

// What keeping the checkpoint's integers lost.
Result<std::optional<double>> KeptSnrDb(const Value& value, const QuantizeArgs& args) {
  if (args.sketch || !args.stored_rows) return std::nullopt;
  const RowReader stored = args.stored_rows(value.name);
  if (!stored) return std::nullopt;
  return SnrDbOf(value.constant->view(), stored, args.pool);
}

struct MatrixResult {
  WeightReport report;
  std::vector<float> shift;  // QuantizedTensor::shift
};

struct MatrixPlan {
  Scheme scheme = Scheme::kPlain;
  const TensorOverride* by = nullptr;  // null: by the scheme alone
  WeightFit fit;
  const Tensor* rounded = nullptr;  // not null: the result is there

  // Whether the algorithm has a say in how the matrix is rounded.
  bool is_fitted() const {
    const bool off = by && by->algorithm && !*by->algorithm;
    return !off && !rounded && scheme != Scheme::kPlain;
  }
};

Result<MatrixResult> QuantizeMatrix(Value& value, const MatrixPlan& plan,
                                    const QuantizeArgs& args) {
  const TensorView before = value.constant->view();
  MatrixResult result;
  WeightReport& report = result.report;
  report.name = value.name;
  report.shape = before.shape;
  report.scheme = plan.scheme;
  if (plan.by) report.rule = plan.by->rule;
  const bool chosen = plan.by && plan.by->weights;
  report.kept = args.options.scheme->keeps_stored && before.scheme != Scheme::kPlain && !chosen;
  if (report.kept) {
    report.scheme = before.scheme;
    report.snr_db = TRY(KeptSnrDb(value, args));
  } else if (args.sketch) {
    value.constant = BlankMatrix(before.shape, plan.scheme);
  } else if (plan.rounded) {
    report.snr_db = TRY(SnrDbOf(plan.rounded->view(), RowsIn(before), args.pool));
    value.constant = *plan.rounded;
  } else {
    QuantizedTensor quantized =
        TRY(QuantizeTensor(before, plan.scheme, value.name, args.pool, plan.fit));
    value.constant = std::move(quantized.tensor);
    report.snr_db = quantized.snr_db;
    result.shift = std::move(quantized.shift);
  }
  report.bits = 8.0 * static_cast<double>(value.constant->view().bytes.size()) /
                static_cast<double>(before.shape.elements());
  return result;
}

// Adds `shift` [n] to what the matrix of `node` gives: to its bias, or as one.
// Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias Correction",
// section 4.2, with the inputs' mean from calibration.
Result<void> CorrectBias(Graph& unit, NodeId node, std::vector<float> shift) {
  const Node& linear = unit.node(node);
  const auto n = static_cast<int64_t>(shift.size());
  if (linear.inputs.size() == 2)
    return unit.AppendInput(node, unit.AddConstant(unit.NameOf(linear) + ".bias",
                                                   Tensor::FromFloats(std::move(shift), {n})));
  Value& bias = unit.value(linear.inputs[2]);
  const std::vector<float> values = ToFloats(bias.constant->view());
  for (size_t i = 0; i < shift.size(); ++i) shift[i] += values[i];
  bias.constant = Tensor::FromFloats(std::move(shift), {n});
  return {};
}

// Norm weights and biases live in float16 where activations do.
Result<void> RoundVectors(Graph& unit, const Node& node, const QuantizeArgs& args) {
  if (args.options.scheme->needs_calibration()) return {};
  if (node.op != OpKind::kLinear && node.op != OpKind::kRmsNorm) return {};
  for (const ValueId id : node.inputs) {
    Value& value = unit.value(id);
    if (value.constant && value.shape.rank() == 1)
      value.constant = TRY(RoundVectorToF16(value.constant->view(), value.name));
  }
  return {};
}

Result<WeightFit> FitOf(const Graph& unit, const Node& node, Scheme scheme,
                        const QuantizeArgs& args, GptqByValue& gptqs) {
  const Algorithm& algorithm = args.options.algorithm;
  if (!algorithm.needs_moments() || args.sketch) return WeightFit{};
  const Moments* moments = TRY(MomentsFor(unit, node, scheme, args));
  if (!moments) return WeightFit{.search_evenly = algorithm.search};
  return FitFor(unit.value(node.inputs[0]), *moments, algorithm, gptqs);
}

Result<void> QuantizeWeightsOf(Graph& unit, NodeId id, const QuantizeArgs& args, GptqByValue& gptqs,
                               UnitReport& report) {
  const Node& node = unit.node(id);
  if (HasMatrix(node)) {
    Value& weight = unit.value(node.inputs[1]);
    if (!weight.constant) return {};
    MatrixPlan plan{.scheme = MatrixScheme(unit, node, args.options),
                    .by = OverrideOf(unit, node, args.options),
                    .fit = {},
                    .rounded = IsLogits(unit, node) ? args.table : nullptr};
    if (plan.is_fitted()) plan.fit = TRY(FitOf(unit, node, plan.scheme, args, gptqs));
    MatrixResult result = TRY(QuantizeMatrix(weight, plan, args));
    report.weights.push_back(std::move(result.report));
    const bool correct =
        plan.is_fitted() && args.options.algorithm.bias && !IsVocabulary(unit, node);
    if (correct && args.sketch) result.shift.resize(static_cast<size_t>(weight.shape[0]));
    if (correct) TRY(CorrectBias(unit, id, std::move(result.shift)));
  }
  return RoundVectors(unit, unit.node(id), args);
}

}  // namespace

Result<UnitReport> QuantizeUnit(Graph& unit, const QuantizeArgs& args) {
  CHECK(args.options.scheme != nullptr);
  UnitReport report{.unit = unit.name(), .values = {}, .weights = {}};
  TRY(EncodeActivations(unit, args, report));
  GptqByValue gptqs;
  for (NodeId id = 0; id < std::ssize(unit.nodes()); ++id)
    TRY(QuantizeWeightsOf(unit, id, args, gptqs, report));
  TRY(Verify(unit, GraphStage::kQuantised));
  return report;
}

Result<void> SketchUnit(Graph& unit, const QuantOptions& options) {
  TRY(QuantizeUnit(unit, {.options = options, .sketch = true}));
  return {};
}

}  // namespace hexlane
