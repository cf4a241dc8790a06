#include "kernels/matmul/float.h"

#include <Eigen/Dense>

#include "base/check.h"
#include "base/thread_pool.h"

namespace hexlane {
namespace {
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

// Columns begin..end of y.
void Columns(ConstRows x, ConstRows w, std::span<const float> bias, Rows y, int64_t begin,
             int64_t end) {
  const Eigen::Map<const RowMajor> a(x.data, x.rows, x.dim);
  const Eigen::Map<const RowMajor> b(w.row(begin), end - begin, w.dim);
  Eigen::Map<RowMajor, 0, Stride> out(y.data + begin, y.rows, end - begin, Stride(y.dim));
  out.noalias() = a * b.transpose();
  if (bias.empty()) return;
  out.rowwise() += Eigen::Map<const Eigen::RowVectorXf>(bias.data() + begin, end - begin);
}
}  // namespace

void MatMulFloat(ConstRows x, ConstRows w, std::span<const float> bias, Rows y, ThreadPool* pool) {
  CHECK(x.dim == w.dim && y.dim == w.rows && y.rows == x.rows);
  CHECK(bias.empty() || static_cast<int64_t>(bias.size()) == w.rows);
  const auto body = [&](int64_t begin, int64_t end) { Columns(x, w, bias, y, begin, end); };
  if (!pool) return body(0, w.rows);
  constexpr int64_t kGrain = 128;  // columns: enough for Eigen's own blocking
  pool->ParallelFor(w.rows, kGrain, body);
}

}  // namespace hexlane
