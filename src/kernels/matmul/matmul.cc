#include "kernels/matmul/matmul.h"

#include <algorithm>
#include <functional>
#include <new>

#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/pack/pack.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
constexpr size_t kAlign = 64;
int64_t Blocks(int64_t k) { return (k + kTileColumns - 1) / kTileColumns; }
int64_t Strips(int64_t n) { return (n + kStripRows - 1) / kStripRows; }

MatMulFn* PackedKernel(Scheme scheme) {
  static MatMulFn* const kernels[] = {
      nullptr,
#define SCHEME(Name, text, bits, block, kind) Best<KernelOp::kMatMul>(Scheme::k##Name),
#include "base/schemes.def"
#undef SCHEME
  };
  return kernels[static_cast<size_t>(scheme)];
}

void RunPacked(const QuantizedRows& x, const MatMulTask& task, int64_t first, int64_t end) {
  const TensorView& w = task.weights;
  const MatMulCall call{.x = x,
                        .strips = w.bytes.data(),
                        .layout = LayoutOf(w.scheme, w.shape[1]),
                        .n = w.shape[0],
                        .y = task.y.data,
                        .y_stride = task.y.dim,
                        .bias = task.bias.empty() ? nullptr : task.bias.data(),
                        .accumulate = task.accumulate};
  PackedKernel(w.scheme)(call, first, end);
}

void RunPlain(ConstRows x, const MatMulTask& task, int64_t first, int64_t end) {
  static PlainMatMulFn* const kernel = Best<KernelOp::kPlainMatMul>();
  const PlainMatMulCall call{.x = x,
                             .w = task.weights.bytes.data(),
                             .dtype = task.weights.dtype,
                             .y = task.y.data,
                             .y_stride = task.y.dim,
                             .bias = task.bias.empty() ? nullptr : task.bias.data(),
                             .accumulate = task.accumulate};
  kernel(call, first * kStripRows, std::min(task.weights.shape[0], end * kStripRows));
}

// Strips first … end - 1 of the tasks' strips laid end to end.
void RunStrips(ConstRows x, const QuantizedRows& q, std::span<const MatMulTask> tasks,
               int64_t first, int64_t end) {
  for (const MatMulTask& task : tasks) {
    const int64_t count = Strips(task.weights.shape[0]);
    const int64_t from = std::max<int64_t>(first, 0), to = std::min(end, count);
    if (from < to) {
      if (task.weights.scheme == Scheme::kPlain)
        RunPlain(x, task, from, to);
      else
        RunPacked(q, task, from, to);
    }
    first -= count;
    end -= count;
  }
}
}  // namespace

QuantizedRowsBuffer::QuantizedRowsBuffer(int64_t max_rows, int64_t max_k, ActivationBits bits)
    : max_rows_(max_rows), max_blocks_(Blocks(max_k)), bits_(bits) {
  const size_t bytes = max_rows_ * max_blocks_ * (2 * kTileColumns + 3 * sizeof(float));
  memory_ = std::shared_ptr<std::byte[]>(
      new (std::align_val_t{kAlign}) std::byte[bytes],
      [](std::byte* p) { operator delete[](p, std::align_val_t{kAlign}); });
}

QuantizedRows QuantizedRowsBuffer::View(int64_t rows, int64_t k) const {
  CHECK(rows <= max_rows_ && Blocks(k) <= max_blocks_);
  const int64_t cells = rows * Blocks(k);
  QuantizedRows view;
  view.q = reinterpret_cast<int8_t*>(memory_.get());
  if (bits_ == ActivationBits::k16) view.low = view.q + cells * kTileColumns;
  view.scales = reinterpret_cast<float*>(memory_.get() + 2 * cells * kTileColumns);
  view.scaled_sums = view.scales + cells;
  view.sums = reinterpret_cast<int32_t*>(view.scaled_sums + cells);
  view.rows = rows;
  view.blocks = Blocks(k);
  return view;
}

QuantizedRows QuantizedRowsBuffer::Quantize(ConstRows x, ThreadPool& pool) {
  static QuantizeRowsFn* const kernel = Best<KernelOp::kQuantizeRows>();
  const QuantizedRows view = View(x.rows, x.dim);
  const auto body = [&](int64_t begin, int64_t end) { kernel(x, view, begin, end); };
  pool.ParallelFor(Panels(x.rows), 4, std::ref(body));
  return view;
}

void MatMul(ConstRows x, std::span<const MatMulTask> tasks, QuantizedRowsBuffer& buffer,
            ThreadPool& pool) {
  int64_t strips = 0;
  bool packed = false;
  for (const MatMulTask& task : tasks) {
    const Shape& shape = task.weights.shape;
    CHECK(task.y.rows == x.rows && task.y.dim == shape[0] && x.dim == shape[1]);
    CHECK(task.bias.empty() || static_cast<int64_t>(task.bias.size()) == shape[0]);
    strips += Strips(shape[0]);
    packed |= task.weights.scheme != Scheme::kPlain;
  }
  const QuantizedRows q = packed ? buffer.Quantize(x, pool) : QuantizedRows{};
  // Several pieces per thread, of an even number of strips: kernels work on pairs.
  const int64_t grain = std::max<int64_t>(2, strips / (pool.threads() * 4) / 2 * 2);
  const auto body = [&](int64_t begin, int64_t end) { RunStrips(x, q, tasks, begin, end); };
  pool.ParallelFor(strips, grain, std::ref(body));
}

Result<void> CheckMatMulWeights(const TensorView& w, std::string_view name) {
  if (w.scheme != Scheme::kPlain) return CheckPacked(w, name);
  if (w.dtype != DType::kF32 && w.dtype != DType::kF16 && w.dtype != DType::kBF16)
    return Unsupported("a product with {} weights", DTypeName(w.dtype)).At("{}", name);
  if (w.shape.rank() != 2 || w.shape[0] < 1 || w.shape[1] < 1)
    return Corrupt("not a matrix").At("{}", name).Got("{}", w.shape);
  const int64_t elements = TRY(CheckedElements(w.shape.dims()));
  const size_t size = DTypeBytes(w.dtype);
  if (w.bytes.size() / size != static_cast<size_t>(elements) || w.bytes.size() % size != 0 ||
      reinterpret_cast<uintptr_t>(w.bytes.data()) % size != 0)
    return Corrupt("wrong size or alignment for shape {}", w.shape).At("{}", name);
  return {};
}

}  // namespace hexlane
