#include "kernels/matmul/float.h"

#include <Eigen/Dense>

#include "base/check.h"
#include "base/encoding.h"
#include "base/thread_pool.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

constexpr int64_t kColumnsAtOnce = 64;  // enough for Eigen's own blocking

// Columns begin..end of y where there is no vector kernel for this processor.
void EigenColumns(ConstRows x, const TensorView& w, std::span<const float> bias, Rows y,
                  int64_t begin, int64_t end) {
  const size_t row_bytes = static_cast<size_t>(x.dim) * DTypeBytes(w.dtype);
  RowMajor b(end - begin, x.dim);
  DecodeValues(w.bytes.subspan(begin * row_bytes, (end - begin) * row_bytes), {.dtype = w.dtype},
               {b.data(), static_cast<size_t>(b.size())});
  const Eigen::Map<const RowMajor> a(x.data, x.rows, x.dim);
  Eigen::Map<RowMajor, 0, Stride> out(y.data + begin, y.rows, end - begin, Stride(y.dim));
  out.noalias() = a * b.transpose();
  if (bias.empty()) return;
  out.rowwise() += Eigen::Map<const Eigen::RowVectorXf>(bias.data() + begin, end - begin);
}
}  // namespace

void MatMulFloat(ConstRows x, const TensorView& w, std::span<const float> bias, Rows y,
                 ThreadPool* pool) {
  const int64_t n = w.shape[0];
  CHECK(w.scheme == Scheme::kPlain && w.shape.rank() == 2);
  CHECK(x.dim == w.shape[1] && y.dim == n && y.rows == x.rows);
  CHECK(bias.empty() || static_cast<int64_t>(bias.size()) == n);
  static const Kernel& kernel = BestKernel(KernelOp::kPlainMatMul, Scheme::kPlain);
  const PlainMatMulCall call{.x = x,
                             .w = w.bytes.data(),
                             .dtype = w.dtype,
                             .y = y.data,
                             .y_stride = y.dim,
                             .bias = bias.empty() ? nullptr : bias.data()};
  const auto body = [&](int64_t begin, int64_t end) {
    if (kernel.cpu == Cpu::kAny) return EigenColumns(x, w, bias, y, begin, end);
    kernel.As<KernelOp::kPlainMatMul>()(call, begin, end);
  };
  ParallelFor(pool, n, kColumnsAtOnce, body);
}

void AddProduct(ConstRows x, ConstRows w, Rows y, ThreadPool* pool) {
  CHECK(x.dim == w.dim && y.rows == x.rows && y.dim == w.rows);
  const auto product = Best<KernelOp::kPlainMatMul>();
  const PlainMatMulCall call{.x = x,
                             .w = reinterpret_cast<const std::byte*>(w.data),
                             .y = y.data,
                             .y_stride = y.dim,
                             .accumulate = true};
  ParallelFor(pool, w.rows, kColumnsAtOnce,
              [&](int64_t begin, int64_t end) { product(call, begin, end); });
}

}  // namespace hexlane
