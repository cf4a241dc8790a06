#include "quant/algorithm/rotate.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "base/check.h"
#include "base/thread_pool.h"
#include "base/transposed.h"
#include "interp/interpreter.h"
#include "op/dims.h"
#include "quant/matrix_scheme.h"

namespace hexlane {
namespace {

// Standard normal numbers that are the same with every standard library.
class Normal {
 public:
  explicit Normal(uint64_t seed) : engine_(seed) {}
  double operator()() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(kTwoPi * Uniform());
  }
  float Sign() { return engine_() >> 63 ? -1.0f : 1.0f; }

 private:
  // In (0, 1].
  double Uniform() { return (static_cast<double>(engine_() >> 11) + 1) * 0x1p-53; }
  std::mt19937_64 engine_;
};

// Uniformly random among the orthogonal matrices (Stewart 1980): Q of a normal matrix, with the
// signs that make R's diagonal positive.
std::vector<float> RandomOrthogonal(int64_t n, Normal& normal) {
  Eigen::MatrixXd a(n, n);
  for (double& x : a.reshaped()) x = normal();
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(a);
  const Eigen::MatrixXd q = qr.householderQ();
  std::vector<float> out(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      out[i * n + j] = static_cast<float>(qr.matrixQR()(j, j) < 0 ? -q(i, j) : q(i, j));
  return out;
}

// x ← x (H ⊗ I) / √(size of H), where I has dimension `stride`.
void Hadamard(std::span<float> x, int64_t stride) {
  const auto dim = static_cast<int64_t>(x.size());
  for (int64_t half = stride; half < dim; half *= 2) {
    for (int64_t start = 0; start < dim; start += 2 * half) {
      for (int64_t i = start; i < start + half; ++i) {
        const float a = x[i], b = x[i + half];
        x[i] = a + b;
        x[i + half] = a - b;
      }
    }
  }
  const float norm = 1 / std::sqrt(static_cast<float>(dim / stride));
  for (float& value : x) value *= norm;
}

}  // namespace

Rotation::Rotation(int64_t dim) : odd_(dim) {
  CHECK(dim > 0);
  while (odd_ % 2 == 0) odd_ /= 2;
  Normal normal(static_cast<uint64_t>(dim));
  factor_ = RandomOrthogonal(odd_, normal);
  for (int64_t i = 0; i < dim; ++i) signs_.push_back(normal.Sign());
}

void Rotation::Apply(std::span<float> x) const {
  CHECK(static_cast<int64_t>(x.size()) == dim());
  for (size_t i = 0; i < x.size(); ++i) x[i] *= signs_[i];
  Hadamard(x, odd_);
  if (odd_ == 1) return;
  std::vector<float> part(static_cast<size_t>(odd_));
  for (size_t start = 0; start < x.size(); start += part.size()) {
    std::ranges::copy(x.subspan(start, part.size()), part.begin());
    for (int64_t j = 0; j < odd_; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < odd_; ++i) sum += part[i] * factor_[i * odd_ + j];
      x[start + j] = sum;
    }
  }
}

namespace {

using Row = std::span<float>;

class UnitRotation {
 public:
  UnitRotation(Graph& unit, ThreadPool* pool)
      : unit_(unit), pool_(pool), hidden_(unit.values().size()) {}

  Result<void> Run() {
    for (const ValueId id : unit_.inputs()) {
      const Value& input = unit_.value(id);
      hidden_[id] =
          input.dtype == DType::kF32 && input.shape.rank() == 2 && input.shape[0] != kPast;
    }
    for (const Node& node : unit_.nodes()) TRY(Visit(node));
    return {};
  }

 private:
  Result<void> Visit(const Node& node) {
    const bool reads_hidden =
        std::ranges::any_of(node.inputs, [&](ValueId id) { return hidden_[id]; });
    switch (node.op) {
      case OpKind::kEmbedding:
        hidden_[node.outputs[0]] = true;
        return RotateRows(node.inputs[1], R1(unit_.value(node.outputs[0])));
      case OpKind::kAdd: return reads_hidden ? Add(node) : Result<void>();
      case OpKind::kRmsNorm: return reads_hidden ? Norm(node) : Result<void>();
      case OpKind::kAttention:
        if (reads_hidden) return Refuse(node);
        return Attention(node);
      default: return reads_hidden ? Refuse(node) : Result<void>();
    }
  }

  static Failure Refuse(const std::string& name, std::string_view what) {
    return Unsupported("rotation cannot be folded into the weights")
        .At("{}", name)
        .Want(
            "hidden states that go through norms into matrices, and matrices or sums that give "
            "them")
        .Got("{}", what)
        .Remedy("Choose an --algorithm without 'rotate'");
  }
  Failure Refuse(const Node& node) const { return Refuse(unit_.NameOf(node), Def(node.op).name); }

  std::function<void(Row)> R1(const Value& hidden) {
    if (!r1_) r1_.emplace(hidden.shape.last());
    return [this](Row row) { r1_->Apply(row); };
  }

  // A sum of hidden states, or of one and what a matrix gives.
  Result<void> Add(const Node& node) {
    for (const ValueId id : node.inputs) {
      if (hidden_[id]) continue;
      TRY(RotateOutputs(id, R1(unit_.value(id)), unit_.NameOf(node)));
    }
    hidden_[node.outputs[0]] = true;
    return {};
  }

  Result<void> Norm(const Node& node) {
    Value& weight = unit_.value(node.inputs[1]);
    const Value& out = unit_.value(node.outputs[0]);
    if (!weight.constant || weight.shape.last() != out.shape.last()) return Refuse(node);
    const std::vector<float> scales = ToFloats(weight.constant->view());
    const auto rotate = R1(out);
    const auto fold = [&](Row row) {
      for (size_t i = 0; i < row.size(); ++i) row[i] *= scales[i];
      rotate(row);
    };
    TRY(RotateInputs(node.outputs[0], fold, out.name));
    weight.constant = Tensor::FromFloats(std::vector<float>(scales.size(), 1.0f), weight.shape);
    return {};
  }

  // (q, k, v, …) → out: every head's values and what they become in `out` by R2.
  Result<void> Attention(const Node& node) {
    const auto& attrs = std::get<AttentionAttrs>(node.attrs);
    const Rotation r2(attrs.head_dim);
    const auto rotate = [&](Row row) {
      for (size_t start = 0; start < row.size(); start += r2.dim())
        r2.Apply(row.subspan(start, r2.dim()));
    };
    TRY(RotateOutputs(node.inputs[2], rotate, unit_.NameOf(node)));
    return RotateInputs(node.outputs[0], rotate, unit_.NameOf(node));
  }

  // All that read `id` must be matrices; their rows are changed.
  Result<void> RotateInputs(ValueId id, const std::function<void(Row)>& change,
                            const std::string& name) {
    for (const Node& node : unit_.nodes()) {
      if (!node.reads(id)) continue;
      if (node.op != OpKind::kLinear) return Refuse(node);
      TRY(RotateRows(node.inputs[1], change));
      Value& weight = unit_.value(node.inputs[1]);
      if (weight.name == kTable) weight.name = kHead;
    }
    if (std::ranges::find(unit_.outputs(), id) != unit_.outputs().end())
      return Refuse(name, "an output of the unit");
    return {};
  }

  // `id` must come of a matrix and go nowhere but to `reader`; the columns of its weight, and its
  // bias, are changed.
  Result<void> RotateOutputs(ValueId id, const std::function<void(Row)>& change,
                             const std::string& reader) {
    const Value& value = unit_.value(id);
    if (value.producer == kNone || unit_.node(value.producer).op != OpKind::kLinear)
      return Refuse(reader, value.name);
    for (const Node& node : unit_.nodes()) {
      if (node.reads(id) && unit_.NameOf(node) != reader) return Refuse(node);
    }
    const Node& linear = unit_.node(value.producer);
    TRY(RotateColumns(linear.inputs[1], change));
    if (linear.inputs.size() < 3) return {};
    Value& bias = unit_.value(linear.inputs[2]);
    std::vector<float> values = ToFloats(bias.constant->view());
    change(values);
    bias.constant = Tensor::FromFloats(std::move(values), bias.shape);
    return {};
  }

  Result<void> RotateRows(ValueId id, const std::function<void(Row)>& change) {
    Value& weight = unit_.value(id);
    if (!weight.constant) return Refuse(weight.name, "a matrix that is no constant");
    std::vector<float> values = ToFloats(weight.constant->view());
    ForRows(values, weight.shape.last(), change);
    weight.constant = Tensor::FromFloats(std::move(values), weight.shape);
    return {};
  }

  Result<void> RotateColumns(ValueId id, const std::function<void(Row)>& change) {
    Value& weight = unit_.value(id);
    if (!weight.constant) return Refuse(weight.name, "a matrix that is no constant");
    const int64_t n = weight.shape[0], k = weight.shape[1];
    std::vector<float> columns = Transposed(ToFloats(weight.constant->view()).data(), n, k);
    ForRows(columns, n, change);
    weight.constant = Tensor::FromFloats(Transposed(columns.data(), k, n), weight.shape);
    return {};
  }

  void ForRows(std::vector<float>& values, int64_t k, const std::function<void(Row)>& change) {
    const auto work = [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        change(Row(values).subspan(static_cast<size_t>(row * k), static_cast<size_t>(k)));
    };
    const int64_t rows = std::ssize(values) / k;
    ParallelFor(pool_, rows, 16, work);
  }

  Graph& unit_;
  ThreadPool* pool_;
  std::vector<bool> hidden_;    // by ValueId: a hidden state, rotated by R1
  std::optional<Rotation> r1_;  // once its dimension is known
};

}  // namespace

Result<void> RotateUnit(Graph& unit, ThreadPool* pool) { return UnitRotation(unit, pool).Run(); }

}  // namespace hexlane
