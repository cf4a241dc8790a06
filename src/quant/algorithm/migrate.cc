#include "quant/algorithm/migrate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/thread_pool.h"
#include "interp/interpreter.h"
#include "kernels/registry.h"
#include "quant/matrix_scheme.h"

namespace hexlane {
namespace {

constexpr int kGridSteps = 20;  // of the exponent, as in AWQ's code: 0, 0.05 … 0.95
constexpr float kSmoothExponent = 0.5f;
constexpr float kLeastFactor = 1e-4f;
constexpr int64_t kRowsAtOnce = 64;

using Floats = std::vector<float>;

// Every channel as its group's mean.
void MeanByGroup(Floats& values, std::span<const int32_t> groups) {
  if (groups.empty()) return;
  std::vector<std::pair<double, int>> sums(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    sums[groups[i]].first += values[i];
    ++sums[groups[i]].second;
  }
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(sums[groups[i]].first / sums[groups[i]].second);
}

// Every channel as its group's largest.
void MaxByGroup(Floats& values, std::span<const int32_t> groups) {
  if (groups.empty()) return;
  Floats largest(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    largest[groups[i]] = std::max(largest[groups[i]], values[i]);
  for (size_t i = 0; i < values.size(); ++i) values[i] = largest[groups[i]];
}

// The geometric middle of the factors becomes 1, so that weights stay about as large as they were.
void Centre(Floats& factors) {
  const auto [least, most] = std::ranges::minmax(factors);
  const float middle = std::sqrt(least * most);
  for (float& factor : factors) factor /= middle;
}

// What rounding W diag(s) costs at the output: Σ over rows of e H eᵀ with e = ŵ / s - w.
class RoundingCost {
 public:
  RoundingCost(const MatrixInput& input, Scheme scheme, ThreadPool* pool)
      : input_(input), scheme_(scheme), pool_(pool) {}

  Result<double> Of(const Floats& factors) const {
    double cost = 0;
    for (const FloatMatrix& matrix : input_.matrices) cost += TRY(OfMatrix(matrix, factors));
    return cost;
  }

 private:
  Result<double> OfMatrix(const FloatMatrix& matrix, const Floats& factors) const {
    const int64_t chunks = (matrix.n + kRowsAtOnce - 1) / kRowsAtOnce;
    std::vector<Result<double>> costs(static_cast<size_t>(chunks));
    const auto work = [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk)
        costs[chunk] = OfRows(matrix, chunk * kRowsAtOnce, factors);
    };
    ParallelFor(pool_, chunks, 1, work);
    double sum = 0;
    for (Result<double>& cost : costs) sum += TRY(std::move(cost));
    return sum;
  }

  Result<double> OfRows(const FloatMatrix& matrix, int64_t first, const Floats& factors) const {
    const int64_t k = matrix.k, count = std::min(kRowsAtOnce, matrix.n - first);
    const std::span<const float> w = matrix.values.subspan(first * k, count * k);
    Floats scaled(w.begin(), w.end());
    for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= factors[i % k];
    const QuantizedMatrix rounded =
        TRY(QuantizeWeights({scaled, count, k, matrix.name, first}, scheme_));
    Floats error(scaled.size()), product(scaled.size());
    for (int64_t row = 0; row < count; ++row) rounded.DequantizeRow(row, &error[row * k]);
    for (size_t i = 0; i < error.size(); ++i) error[i] = error[i] / factors[i % k] - w[i];
    static const auto multiply = Best<KernelOp::kPlainMatMul>();
    multiply({.x = {error.data(), count, k},
              .w = reinterpret_cast<const std::byte*>(input_.moments->sum().data()),
              .y = product.data(),
              .y_stride = k},
             0, k);
    double cost = 0;
    for (size_t i = 0; i < error.size(); ++i) cost += static_cast<double>(error[i]) * product[i];
    return cost;
  }

  const MatrixInput& input_;
  Scheme scheme_;
  ThreadPool* pool_;
};

// Largest |w| of every column of all matrices.
Floats ColumnMagnitudes(const MatrixInput& input) {
  Floats largest(static_cast<size_t>(input.moments->dim()));
  for (const FloatMatrix& matrix : input.matrices)
    for (size_t i = 0; i < matrix.values.size(); ++i)
      largest[i % largest.size()] =
          std::max(largest[i % largest.size()], std::abs(matrix.values[i]));
  return largest;
}

}  // namespace

std::vector<float> SmoothFactors(const MatrixInput& input) {
  Floats of_input(input.moments->max_abs().begin(), input.moments->max_abs().end());
  Floats of_weights = ColumnMagnitudes(input);
  MaxByGroup(of_input, input.groups);
  MaxByGroup(of_weights, input.groups);
  Floats factors(of_input.size(), 1.0f);
  for (size_t i = 0; i < factors.size(); ++i) {
    if (of_input[i] == 0 || of_weights[i] == 0) continue;
    const float factor =
        std::pow(of_input[i], kSmoothExponent) / std::pow(of_weights[i], 1 - kSmoothExponent);
    factors[i] = std::max(factor, kLeastFactor);
  }
  return factors;
}

Result<std::vector<float>> AwqFactors(const MatrixInput& input, Scheme scheme, ThreadPool* pool) {
  Floats magnitudes = input.moments->MeanMagnitudes();
  MeanByGroup(magnitudes, input.groups);
  const RoundingCost cost(input, scheme, pool);
  Floats best(magnitudes.size(), 1.0f);
  double least = TRY(cost.Of(best));
  for (int step = 1; step < kGridSteps; ++step) {
    const float exponent = static_cast<float>(step) / kGridSteps;
    Floats factors;
    for (const float magnitude : magnitudes)
      factors.push_back(std::max(std::pow(magnitude, exponent), kLeastFactor));
    Centre(factors);
    const double tried = TRY(cost.Of(factors));
    if (tried < least) least = tried, best = std::move(factors);
  }
  return best;
}

namespace {

// A value whose channels can be scaled.
struct Site {
  ValueId input = kNone;
  std::vector<ValueId> matrices;  // weights of all that read it, [n, k]
  std::vector<ValueId> sources;   // weights and biases whose rows make its channels
  std::vector<int32_t> groups;    // row of the sources by channel; empty: the same
};

class Migration {
 public:
  Migration(Graph& unit, const MigrateArgs& args) : unit_(unit), args_(args) {}

  Result<void> Run() {
    for (const Node& node : unit_.nodes()) {
      const std::optional<Site> site = FindSite(node);
      if (site) TRY(Scale(*site));
    }
    return {};
  }

 private:
  // Matrices of layers that read `id`; none where something else does, too.
  std::vector<ValueId> MatricesOf(ValueId id) const {
    std::vector<ValueId> matrices;
    for (const Node& node : unit_.nodes()) {
      if (!node.reads(id)) continue;
      if (node.op != OpKind::kLinear || IsVocabulary(unit_, node)) return {};
      if (!unit_.value(node.inputs[1]).constant) return {};
      matrices.push_back(node.inputs[1]);
    }
    const bool leaves = std::ranges::find(unit_.outputs(), id) != unit_.outputs().end();
    return leaves ? std::vector<ValueId>() : matrices;
  }

  bool IsReadOnlyBy(ValueId id, const Node& reader) const {
    return std::ranges::all_of(
        unit_.nodes(), [&](const Node& node) { return &node == &reader || !node.reads(id); });
  }

  // Constants whose rows make the channels of `id`, which `reader` alone reads.
  std::vector<ValueId> SourcesOf(ValueId id, const Node& reader) const {
    const NodeId producer = unit_.value(id).producer;
    if (producer == kNone || unit_.node(producer).op != OpKind::kLinear) return {};
    if (!IsReadOnlyBy(id, reader)) return {};
    const Node& linear = unit_.node(producer);
    return {linear.inputs.begin() + 1, linear.inputs.end()};
  }

  std::optional<Site> FindSite(const Node& node) const {
    Site site{.input = node.outputs[0], .matrices = MatricesOf(node.outputs[0])};
    if (site.matrices.empty()) return std::nullopt;
    const int64_t channels = unit_.value(site.input).shape.last();
    if (node.op == OpKind::kRmsNorm && unit_.value(node.inputs[1]).shape.last() == channels)
      site.sources = {node.inputs[1]};
    if (node.op == OpKind::kMul) {
      site.sources = SourcesOf(node.inputs[1], node);
      if (site.sources.empty()) site.sources = SourcesOf(node.inputs[0], node);
    }
    if (node.op == OpKind::kAttention) {
      site.sources = SourcesOf(node.inputs[2], node);
      site.groups = ValueChannels(std::get<AttentionAttrs>(node.attrs));
    }
    if (site.sources.empty()) return std::nullopt;
    return site;
  }

  // The channel of the values that each channel of attention's output is a mean of.
  static std::vector<int32_t> ValueChannels(const AttentionAttrs& attrs) {
    const int64_t share = attrs.heads / attrs.kv_heads;
    std::vector<int32_t> channels;
    for (int64_t head = 0; head < attrs.heads; ++head)
      for (int64_t i = 0; i < attrs.head_dim; ++i)
        channels.push_back(static_cast<int32_t>(head / share * attrs.head_dim + i));
    return channels;
  }

  Result<void> Scale(const Site& site) {
    const auto found = args_.moments->find(unit_.value(site.input).name);
    CHECK(found != args_.moments->end());
    std::vector<Floats> weights;
    MatrixInput input{.moments = &found->second, .matrices = {}, .groups = site.groups};
    for (const ValueId id : site.matrices) {
      const Value& weight = unit_.value(id);
      weights.push_back(ToFloats(weight.constant->view()));
      input.matrices.push_back({weights.back(), weight.shape[0], weight.shape[1], weight.name});
    }
    const Scheme scheme = WithBlocksThatDivide(args_.scheme, found->second.dim());
    const Floats factors =
        args_.awq ? TRY(AwqFactors(input, scheme, args_.pool)) : SmoothFactors(input);
    for (size_t i = 0; i < weights.size(); ++i) {
      for (size_t j = 0; j < weights[i].size(); ++j) weights[i][j] *= factors[j % factors.size()];
      Value& weight = unit_.value(site.matrices[i]);
      weight.constant = Tensor::FromFloats(std::move(weights[i]), weight.shape);
    }
    for (const ValueId id : site.sources) Divide(unit_.value(id), ByRow(factors, site.groups));
    return {};
  }

  static Floats ByRow(const Floats& factors, std::span<const int32_t> groups) {
    if (groups.empty()) return factors;
    Floats rows(static_cast<size_t>(*std::ranges::max_element(groups)) + 1);
    for (size_t i = 0; i < factors.size(); ++i) rows[groups[i]] = factors[i];
    return rows;
  }

  // Rows of a matrix, or elements of a vector.
  static void Divide(Value& value, const Floats& factors) {
    Floats values = ToFloats(value.constant->view());
    const size_t width = values.size() / factors.size();
    for (size_t i = 0; i < values.size(); ++i) values[i] /= factors[i / width];
    value.constant = Tensor::FromFloats(std::move(values), value.shape);
  }

  Graph& unit_;
  const MigrateArgs& args_;
};

}  // namespace

Result<void> MigrateScales(Graph& unit, const MigrateArgs& args) {
  CHECK(args.moments != nullptr);
  return Migration(unit, args).Run();
}

}  // namespace hexlane
