#include "quant/algorithm/gptq.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "quant/encodings.h"

namespace hexlane {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMajorMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Columns whose corrections are gathered before the columns after them get them.
constexpr int64_t kColumnsAtOnce = 128;

std::vector<int32_t> DescendingDiagonal(const Moments& moments) {
  const int64_t k = moments.dim();
  std::vector<int32_t> order(static_cast<size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  const auto energy = [&](int32_t i) { return moments.sum()[i * k + i]; };
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return energy(a) > energy(b); });
  return order;
}

// H with damping, rows and columns in the order and then reversed: its Cholesky factor, read
// backwards, is the upper triangular R with H = R Rᵀ, and R⁻¹ is the factor of H⁻¹.
Matrix Reversed(const Moments& moments, const std::vector<int32_t>& order, double damping) {
  const int64_t k = moments.dim();
  double mean = 0;
  for (int64_t i = 0; i < k; ++i) mean += moments.sum()[i * k + i] / static_cast<double>(k);
  Matrix h(k, k);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < k; ++j)
      h(i, j) = moments.sum()[order[k - 1 - i] * k + order[k - 1 - j]];
  h.diagonal().array() += mean > 0 ? damping * mean : 1.0;
  return h;
}

}  // namespace

Result<Gptq> Gptq::Create(const Moments& moments, double damping) {
  const int64_t k = moments.dim();
  Gptq gptq;
  gptq.order_ = DescendingDiagonal(moments);
  Matrix h = Reversed(moments, gptq.order_, damping);
  const Eigen::LLT<Eigen::Ref<Matrix>> cholesky(h);  // in place
  if (cholesky.info() != Eigen::Success)
    return InvalidInput("the inputs' second moments are not positive definite")
        .Remedy("Calibrate on more text, or convert with another --algorithm");
  Matrix inverse = Matrix::Identity(k, k);
  h.triangularView<Eigen::Lower>().solveInPlace(inverse);  // of the lower factor
  gptq.factor_.resize(static_cast<size_t>(k * k));
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = i; j < k; ++j)
      gptq.factor_[i * k + j] = static_cast<float>(inverse(k - 1 - i, k - 1 - j));
  return gptq;
}

void Gptq::Round(const FloatMatrix& weights, QuantizedMatrix& m) const {
  const auto k = static_cast<int64_t>(order_.size());
  CHECK(weights.k == k && m.k == k && m.n == weights.n);
  const IntegerRange integers = IntegersOf(m.scheme);
  const Eigen::Map<const RowMajorMatrix> factor(factor_.data(), k, k);
  RowMajorMatrix left(weights.n, k);  // what is still to be represented, in order
  for (int64_t row = 0; row < weights.n; ++row)
    for (int64_t i = 0; i < k; ++i) left(row, i) = weights.row(row)[order_[i]];
  RowMajorMatrix errors(weights.n, kColumnsAtOnce);
  for (int64_t first = 0; first < k; first += kColumnsAtOnce) {
    const int64_t end = std::min(k, first + kColumnsAtOnce);
    for (int64_t i = first; i < end; ++i) {
      const int64_t column = order_[i];
      for (int64_t row = 0; row < weights.n; ++row) {
        const QuantizedMatrix::Affine by = m.AffineOf(row, column);
        const float w = left(row, i);
        const int32_t q = QuantizeValue(w - by.min, {by.scale, 0}, integers);
        m.q[row * k + column] = static_cast<int8_t>(q);
        const float error = (w - (static_cast<float>(q) * by.scale + by.min)) / factor(i, i);
        errors(row, i - first) = error;
        left.row(row).segment(i, end - i) -= error * factor.row(i).segment(i, end - i);
      }
    }
    left.rightCols(k - end).noalias() -=
        errors.leftCols(end - first) * factor.block(first, end, end - first, k - end);
  }
}

}  // namespace hexlane
