#include "kernels/matmul/matmul.h"

#include <algorithm>
#include <new>

#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/pack/pack.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
constexpr size_t kAlign = 64;
int64_t Blocks(int64_t k) { return (k + kTileColumns - 1) / kTileColumns; }
}  // namespace

QuantizedRowsBuffer::QuantizedRowsBuffer(int64_t max_rows, int64_t max_k)
    : max_rows_(max_rows), max_blocks_(Blocks(max_k)) {
  const size_t bytes = max_rows_ * max_blocks_ * (kTileColumns + 3 * sizeof(float));
  memory_ = std::shared_ptr<std::byte[]>(
      new (std::align_val_t{kAlign}) std::byte[bytes],
      [](std::byte* p) { operator delete[](p, std::align_val_t{kAlign}); });
}

QuantizedRows QuantizedRowsBuffer::View(int64_t rows, int64_t k) const {
  CHECK(rows <= max_rows_ && Blocks(k) <= max_blocks_);
  const int64_t cells = rows * Blocks(k);
  QuantizedRows view;
  view.q = reinterpret_cast<int8_t*>(memory_.get());
  view.scales = reinterpret_cast<float*>(memory_.get() + cells * kTileColumns);
  view.scaled_sums = view.scales + cells;
  view.sums = reinterpret_cast<int32_t*>(view.scaled_sums + cells);
  view.rows = rows;
  view.blocks = Blocks(k);
  return view;
}

QuantizedRows QuantizedRowsBuffer::Quantize(ConstRows x, ThreadPool& pool) {
  const QuantizedRows view = View(x.rows, x.dim);
  static KernelFn<KernelOp::kQuantizeRows>* const kernel = Best<KernelOp::kQuantizeRows>();
  pool.ParallelFor(Panels(x.rows), 4,
                   [&](int64_t begin, int64_t end) { kernel(x, view, begin, end); });
  return view;
}

void MatMul(const QuantizedRows& x, const MatMulArgs& args, Rows y, ThreadPool& pool) {
  const int64_t n = args.weights.shape[0];
  CHECK(y.rows == x.rows && y.dim == n && x.blocks == Blocks(args.weights.shape[1]));
  CHECK(args.bias.empty() || static_cast<int64_t>(args.bias.size()) == n);
  const MatMulCall call{.x = x,
                        .strips = args.weights.bytes.data(),
                        .layout = LayoutOf(args.weights.scheme, args.weights.shape[1]),
                        .n = n,
                        .y = y.data,
                        .y_stride = y.dim,
                        .bias = args.bias.empty() ? nullptr : args.bias.data(),
                        .accumulate = args.accumulate};
  const auto kernel = Best<KernelOp::kMatMul>(args.weights.scheme);
  const int64_t strips = (n + kStripRows - 1) / kStripRows;
  // Several pieces per thread, of an even number of strips: kernels work on pairs.
  const int64_t grain = std::max<int64_t>(2, strips / (pool.threads() * 4) / 2 * 2);
  pool.ParallelFor(strips, grain, [&](int64_t begin, int64_t end) { kernel(call, begin, end); });
}

}  // namespace hexlane
