#include "kernels/matmul/float.h"

#include <Eigen/Dense>

#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

// Columns begin..end of y where there is no vector kernel for this processor.
void EigenColumns(ConstRows x, ConstRows w, std::span<const float> bias, Rows y, int64_t begin,
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
  static const Kernel& kernel = BestKernel(KernelOp::kPlainMatMul, Scheme::kPlain);
  const PlainMatMulCall call{.x = x,
                             .w = reinterpret_cast<const std::byte*>(w.data),
                             .dtype = DType::kF32,
                             .y = y.data,
                             .y_stride = y.dim,
                             .bias = bias.empty() ? nullptr : bias.data()};
  const auto body = [&](int64_t begin, int64_t end) {
    if (kernel.cpu == Cpu::kAny) return EigenColumns(x, w, bias, y, begin, end);
    kernel.As<KernelOp::kPlainMatMul>()(call, begin, end);
  };
  if (!pool) return body(0, w.rows);
  constexpr int64_t kGrain = 64;  // columns: enough for Eigen's own blocking
  pool->ParallelFor(w.rows, kGrain, body);
}

}  // namespace hexlane
