#include "backends/cpu/exec/step.h"

#include "base/thread_pool.h"

namespace hexlane {

int AttendPieces(const ThreadPool& pool) { return pool.threads() * 8; }

void Step::Observe(const Frame& frame, const std::vector<int64_t>& columns,
                   const ValueObserver& observer) const {
  const auto index = static_cast<size_t>(out);
  observer(name, {frame.buffers[index], static_cast<size_t>(frame.rows * columns[index])});
}

Result<std::vector<float>> WeightAsFloats(const StepContext& context, size_t index) {
  const TensorView& view = context.weights[index].view();
  const bool known = view.dtype == DType::kF32 || view.dtype == DType::kF16;
  if (view.scheme != Scheme::kPlain || !known || view.shape.rank() != 1)
    return context.Misfit("a weight is not a vector of f32 or f16").Got("{}", view.shape);
  const int64_t elements = TRY(CheckedElements(view.shape.dims()));
  const size_t size = DTypeBytes(view.dtype);
  if (view.bytes.size() % size != 0 || view.bytes.size() / size != static_cast<size_t>(elements) ||
      elements == 0)
    return context.Misfit("a weight has the wrong size").Got("{} bytes", view.bytes.size());
  std::vector<float> values(static_cast<size_t>(elements));
  DecodeValues(view.bytes, {.dtype = view.dtype}, values);
  return values;
}

}  // namespace hexlane
