#include "interp/gradient/backward.h"

#include "base/check.h"
#include "interp/gradient/ops.h"

namespace hexlane {
namespace {

class Backward {
 public:
  Backward(const BackwardArgs& args, const GradientSink& sink)
      : args_(args),
        graph_(*args.graph),
        sink_(sink),
        rows_(args.values->rows),
        leads_(graph_.values().size()),
        gradients_(graph_.values().size()) {
    CHECK(args.values->past == 0);
    for (const ValueId id : args.wanted) leads_[id] = true;
    for (const Node& node : graph_.nodes())
      for (const ValueId input : node.inputs)
        if (leads_[input]) leads_[node.outputs[0]] = true;
  }

  void Run(std::vector<float> output) {
    const ValueId last = graph_.outputs()[0];
    CHECK(output.size() == Floats(last).size());
    gradients_[last] = std::move(output);
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
      std::vector<float> dy = std::move(gradients_[node->outputs[0]]);
      if (!dy.empty() && leads_[node->outputs[0]]) Pass(*node, dy);
    }
    for (const ValueId id : graph_.inputs())
      if (args_.wanted.contains(id)) sink_(id, gradients_[id]);
  }

 private:
  std::span<const float> Floats(ValueId id) const {
    return args_.interpreter->Floats(id, *args_.values);
  }

  void Pass(const Node& node, const std::vector<float>& dy) {
    switch (node.op) {
      case OpKind::kEmbedding: CHECK(!"ids have no gradient"); break;
      case OpKind::kLinear: Linear(node, dy); break;
      case OpKind::kRmsNorm: RmsNorm(node, dy); break;
      case OpKind::kRope: Rope(node, dy); break;
      case OpKind::kAttention: Attention(node, dy); break;
      case OpKind::kAdd:
        for (const ValueId input : node.inputs) AddTo(input, dy);
        break;
      case OpKind::kMul:
        for (const int i : {0, 1})
          if (leads_[node.inputs[i]]) AddMul(dy, Floats(node.inputs[1 - i]), Of(node.inputs[i]));
        break;
      case OpKind::kSilu: AddSilu(dy, Floats(node.inputs[0]), Of(node.inputs[0])); break;
    }
  }

  // Where the gradient of a value is summed up.
  std::span<float> Of(ValueId id) {
    std::vector<float>& sum = gradients_[id];
    if (sum.empty()) sum.resize(Floats(id).size());
    return sum;
  }
  Rows RowsOf(ValueId id) {
    const std::span<float> sum = Of(id);
    return {sum.data(), rows_, std::ssize(sum) / rows_};
  }
  ConstRows RowsOf(std::span<const float> values) const {
    return {values.data(), rows_, std::ssize(values) / rows_};
  }
  void AddTo(ValueId id, std::span<const float> dy) {
    if (!leads_[id]) return;
    const std::span<float> sum = Of(id);
    for (size_t i = 0; i < dy.size(); ++i) sum[i] += dy[i];
  }

  // Hands over the gradient of a constant that `fill` adds up in zeros.
  template <typename Fill>
  void Give(ValueId constant, const Fill& fill) {
    if (!leads_[constant]) return;
    std::vector<float> sum(static_cast<size_t>(graph_.value(constant).shape.elements()));
    fill(sum);
    sink_(constant, sum);
  }

  void Linear(const Node& node, const std::vector<float>& dy) {
    const Shape& shape = graph_.value(node.inputs[1]).shape;
    const ConstRows out = RowsOf(dy);
    if (leads_[node.inputs[0]]) {
      const std::span<const float> w = Floats(node.inputs[1]);
      AddLinearInput(out, {w.data(), shape[0], shape[1]}, RowsOf(node.inputs[0]), args_.pool);
    }
    Give(node.inputs[1], [&](std::vector<float>& sum) {
      const ConstRows x = RowsOf(Floats(node.inputs[0]));
      AddLinearWeight(out, x, {sum.data(), shape[0], shape[1]}, args_.pool);
    });
    if (node.inputs.size() > 2)
      Give(node.inputs[2], [&](std::vector<float>& sum) { AddLinearBias(out, sum); });
  }

  void RmsNorm(const Node& node, const std::vector<float>& dy) {
    const RmsNormCall call{.x = RowsOf(Floats(node.inputs[0])),
                           .dy = RowsOf(dy),
                           .w = Floats(node.inputs[1]),
                           .eps = std::get<RmsNormAttrs>(node.attrs).eps};
    if (leads_[node.inputs[0]]) AddRmsNormInput(call, RowsOf(node.inputs[0]));
    Give(node.inputs[1], [&](std::vector<float>& sum) { AddRmsNormWeight(call, sum); });
  }

  void Rope(const Node& node, const std::vector<float>& dy) {
    const auto& attrs = std::get<RopeAttrs>(node.attrs);
    AddRope(RowsOf(dy),
            {.head_dim = attrs.head_dim,
             .inv_freq = Floats(node.inputs[2]),
             .first_position = args_.values->ints[node.inputs[1]][0],
             .attention_factor = attrs.scale},
            RowsOf(node.inputs[0]));
  }

  void Attention(const Node& node, const std::vector<float>& dy) {
    const auto& attrs = std::get<AttentionAttrs>(node.attrs);
    AddAttention({.q = RowsOf(Floats(node.inputs[0])),
                  .k = RowsOf(Floats(node.inputs[1])),
                  .v = RowsOf(Floats(node.inputs[2])),
                  .heads = attrs.heads,
                  .kv_heads = attrs.kv_heads,
                  .head_dim = attrs.head_dim,
                  .scale = attrs.scale,
                  .window = attrs.window,
                  .softcap = attrs.softcap},
                 RowsOf(dy),
                 {RowsOf(node.inputs[0]), RowsOf(node.inputs[1]), RowsOf(node.inputs[2])},
                 args_.pool);
  }

  const BackwardArgs& args_;
  const Graph& graph_;
  const GradientSink& sink_;
  int64_t rows_;
  std::vector<bool> leads_;  // by ValueId: it is wanted, or made from something that is
  std::vector<std::vector<float>> gradients_;  // by ValueId; empty: none yet
};

}  // namespace

void GoBack(const BackwardArgs& args, std::vector<float> output, const GradientSink& sink) {
  Backward(args, sink).Run(std::move(output));
}

}  // namespace hexlane
