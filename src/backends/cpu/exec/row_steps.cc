// Steps that treat each row by itself: embedding, norm, elementwise.
#include <functional>

#include "backends/cpu/exec/step.h"
#include "base/thread_pool.h"
#include "kernels/pack/pack.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {

// Calls body(first, end) over the frame's rows; a single row is not worth waking anybody.
template <typename Body>
void OverRows(const Frame& frame, const Body& body) {
  if (frame.rows == 1) return body(int64_t{0}, int64_t{1});
  const int64_t pieces = frame.pool->threads() * 4;
  frame.pool->ParallelFor(frame.rows, (frame.rows + pieces - 1) / pieces, std::ref(body));
}

class EmbeddingStep : public Step {
 public:
  explicit EmbeddingStep(Tensor table) : table_(std::move(table)) {}

  void Run(Frame& frame) const override {
    const TensorView& table = table_.view();
    const int64_t dim = table.shape[1];
    for (int64_t row = 0; row < frame.rows; ++row) {
      float* out = frame.buffers[static_cast<size_t>(this->out)] + row * dim;
      const int64_t id = frame.ids[static_cast<size_t>(row)];
      if (table.scheme != Scheme::kPlain) {
        DequantizeRows(table, id, 1, out);
        continue;
      }
      const auto bytes = static_cast<size_t>(dim) * DTypeBytes(table.dtype);
      DecodeValues(table.bytes.subspan(static_cast<size_t>(id) * bytes, bytes),
                   {.dtype = table.dtype}, {out, static_cast<size_t>(dim)});
    }
  }

 private:
  Tensor table_;  // [vocab, dim]
};

class RmsNormStep : public Step {
 public:
  RmsNormStep(const StepContext& context, std::vector<float> weight)
      : in_(static_cast<size_t>(context.step.in[0])),
        dim_(context.out()),
        eps_(std::get<RmsNormAttrs>(context.step.attrs).eps),
        weight_(std::move(weight)) {}

  void Run(Frame& frame) const override {
    static RmsNormFn* const kernel = Best<KernelOp::kRmsNorm>();
    const float* x = frame.buffers[in_];
    float* y = frame.buffers[static_cast<size_t>(out)];
    OverRows(frame, [&](int64_t first, int64_t end) {
      kernel({x + first * dim_, end - first, dim_}, weight_, eps_,
             {y + first * dim_, end - first, dim_});
    });
  }

 private:
  size_t in_;
  int64_t dim_;
  float eps_;
  std::vector<float> weight_;
};

class ElementwiseStep : public Step {
 public:
  explicit ElementwiseStep(const StepContext& context)
      : op_(context.step.op),
        a_(static_cast<size_t>(context.step.in.front())),
        b_(static_cast<size_t>(context.step.in.back())),
        dim_(context.out()) {}

  void Run(Frame& frame) const override {
    OverRows(frame, [&](int64_t first, int64_t end) {
      const auto n = static_cast<size_t>((end - first) * dim_);
      Apply({frame.buffers[a_] + first * dim_, n}, {frame.buffers[b_] + first * dim_, n},
            {frame.buffers[static_cast<size_t>(out)] + first * dim_, n});
    });
  }

 private:
  void Apply(std::span<const float> a, std::span<const float> b, std::span<float> y) const {
    static SiluMulFn* const silu_mul = Best<KernelOp::kSiluMul>();
    switch (op_) {
      case TapeOp::kSilu: return Silu(a, y);
      case TapeOp::kAdd: return Add(a, b, y);
      case TapeOp::kMul: return Mul(a, b, y);
      default: return silu_mul(a.data(), b.data(), y.data(), static_cast<int64_t>(y.size()));
    }
  }

  TapeOp op_;
  size_t a_, b_;
  int64_t dim_;
};

}  // namespace

LoadedStep LoadEmbedding(StepContext& context) {
  const TensorView& table = context.weights[0].view();
  TRY(CheckMatMulWeights(table, context.step.weights[0]));
  if (table.shape[1] != context.out()) return context.Misfit("the table does not fit its buffer");
  return LoadedStep(std::make_unique<EmbeddingStep>(context.weights[0]));
}

LoadedStep LoadRmsNorm(StepContext& context) {
  std::vector<float> weight = TRY(WeightAsFloats(context, 0));
  const float eps = std::get<RmsNormAttrs>(context.step.attrs).eps;
  if (context.in(0) != context.out() || context.out() % static_cast<int64_t>(weight.size()) != 0)
    return context.Misfit("buffers and weight do not fit each other");
  if (!(eps >= 0)) return context.Misfit("eps is negative");
  return LoadedStep(std::make_unique<RmsNormStep>(context, std::move(weight)));
}

LoadedStep LoadElementwise(StepContext& context) {
  for (size_t i = 0; i < context.step.in.size(); ++i)
    if (context.in(i) != context.out()) return context.Misfit("buffers of different sizes");
  return LoadedStep(std::make_unique<ElementwiseStep>(context));
}

}  // namespace hexlane
