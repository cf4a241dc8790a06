#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "interp/gradient/ops.h"
#include "interp/gradient/transposed.h"
#include "kernels/registry.h"

namespace hexlane {

void AddProduct(ConstRows x, ConstRows w, Rows y, ThreadPool* pool) {
  CHECK(x.dim == w.dim && y.rows == x.rows && y.dim == w.rows);
  constexpr int64_t kColumnsAtOnce = 64;
  const auto product = Best<KernelOp::kPlainMatMul>();
  const PlainMatMulCall call = {.x = x,
                                .w = reinterpret_cast<const std::byte*>(w.data),
                                .y = y.data,
                                .y_stride = y.dim,
                                .accumulate = true};
  const auto work = [&](int64_t begin, int64_t end) { product(call, begin, end); };
  if (pool)
    pool->ParallelFor(w.rows, kColumnsAtOnce, work);
  else
    work(0, w.rows);
}

void AddLinearInput(ConstRows dy, ConstRows w, Rows dx, ThreadPool* pool) {
  const std::vector<float> columns = Transposed(w);
  AddProduct(dy, {columns.data(), w.dim, w.rows}, dx, pool);
}

void AddLinearWeight(ConstRows dy, ConstRows x, Rows dw, ThreadPool* pool) {
  const std::vector<float> outputs = Transposed(dy), inputs = Transposed(x);
  AddProduct({outputs.data(), dy.dim, dy.rows}, {inputs.data(), x.dim, x.rows}, dw, pool);
}

void AddLinearBias(ConstRows dy, std::span<float> db) {
  for (int64_t r = 0; r < dy.rows; ++r)
    for (int64_t i = 0; i < dy.dim; ++i) db[i] += dy.row(r)[i];
}

}  // namespace hexlane
