#include "quant/moments.h"

#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {

constexpr int64_t kColumnsAtOnce = 64;

// [rows, dim] as [dim, rows]
std::vector<float> Transposed(ConstRows x) {
  std::vector<float> out(static_cast<size_t>(x.rows * x.dim));
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t i = 0; i < x.dim; ++i) out[i * x.rows + row] = x.data[row * x.dim + i];
  return out;
}

}  // namespace

void Moments::Add(ConstRows x, ThreadPool* pool) {
  if (dim_ == 0) {
    dim_ = x.dim;
    sum_.resize(static_cast<size_t>(dim_ * dim_));
  }
  CHECK(x.dim == dim_);
  rows_ += x.rows;
  const std::vector<float> columns = Transposed(x);
  const auto product = Best<KernelOp::kPlainMatMul>();
  const PlainMatMulCall call = {.x = {columns.data(), dim_, x.rows},
                                .w = reinterpret_cast<const std::byte*>(columns.data()),
                                .y = sum_.data(),
                                .y_stride = dim_,
                                .accumulate = true};
  const auto work = [&](int64_t begin, int64_t end) { product(call, begin, end); };
  if (pool)
    pool->ParallelFor(dim_, kColumnsAtOnce, work);
  else
    work(0, dim_);
}

std::vector<float> Moments::MeanSquares() const {
  std::vector<float> squares(static_cast<size_t>(dim_));
  for (int64_t i = 0; i < dim_; ++i) squares[i] = sum_[i * dim_ + i] / static_cast<float>(rows_);
  return squares;
}

}  // namespace hexlane
