#include <algorithm>
#include <array>

#include "backends/cpu/exec/step.h"

namespace hexlane {

Result<std::unique_ptr<LinearStep>> LinearStep::Load(StepContext& context) {
  const TensorView& weights = context.weights[0].view();
  TRY(CheckMatMulWeights(weights, context.step.weights[0]));
  if (weights.shape[0] != context.out() || weights.shape[1] != context.in(0))
    return context.Misfit("weight does not fit its buffers").Got("{}", weights.shape);
  if (context.step.in[0] == context.step.out) return context.Misfit("it cannot work in place");
  auto step = std::make_unique<LinearStep>();
  step->in_ = context.step.in[0];
  Part part{context.step.name, context.step.out, context.step.accumulate, context.weights[0], {}};
  if (context.weights.size() > 1) {
    part.bias = TRY(WeightAsFloats(context, 1));
    if (static_cast<int64_t>(part.bias.size()) != context.out())
      return context.Misfit("bias does not fit its buffer");
  }
  step->parts_.push_back(std::move(part));
  context.needs.widest = std::max(context.needs.widest, context.in(0));
  return step;
}

bool LinearStep::Merge(LinearStep& next) {
  if (next.in_ != in_ || parts_.size() == kMaxParts) return false;
  Part& part = next.parts_.front();
  for (const Part& mine : parts_)
    if (mine.out == part.out || mine.out == next.in_) return false;
  parts_.push_back(std::move(part));
  return true;
}

void LinearStep::Run(Frame& frame) const {
  std::array<MatMulTask, kMaxParts> tasks;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const TensorView& weights = parts_[i].weights.view();
    tasks[i] = {
        .weights = weights,
        .bias = parts_[i].bias,
        .accumulate = parts_[i].accumulate,
        .y = {frame.buffers[static_cast<size_t>(parts_[i].out)], frame.rows, weights.shape[0]}};
  }
  const int64_t k = parts_[0].weights.shape()[1];
  MatMul({frame.buffers[static_cast<size_t>(in_)], frame.rows, k},
         std::span(tasks).first(parts_.size()), *frame.quantized, *frame.pool);
}

void LinearStep::Observe(const Frame& frame, const std::vector<int64_t>& columns,
                         const ValueObserver& observer) const {
  for (const Part& part : parts_) {
    const auto index = static_cast<size_t>(part.out);
    observer(part.name, {frame.buffers[index], static_cast<size_t>(frame.rows * columns[index])});
  }
}

}  // namespace hexlane
