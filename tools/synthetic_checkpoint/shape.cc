// Where the statistics come from. Measured on SmolLM2-135M-Instruct (the checkpoint of the tests,
// dequantised), layers 0, 1, 7, 15, 22 and 29:
//   deviation * sqrt(inputs)      q, k 3.2 – 6.8; v 1.1 – 6.9; o 1.6 – 5.4; ffn 4.2 – 7.7
//   kurtosis of a whole matrix    3.2 (up) – 11 (q, layer 0); largest |w| 8 – 27 deviations
//   spread of log row RMS         q, k 0.2 – 0.5; gate 0.1 – 0.3; others 0.05 – 0.3
//   spread of log column RMS      v 0.2 – 0.45; o 0.15 – 0.3; embedding 0.29; others 0.05 – 0.2
//   strongest over median column  embedding 6.2; q, k 1.1 – 3.2; o 1.3 – 3.2; down 1.2 – 1.7
//   strongest over median row     o, down 1.8 – 4.6
//   RMS norm gains, median        attention 0.16 → 0.41 and ffn 0.20 → 0.32 from first to last
//                                 layer, largest 1.3 – 4 times that; final 1.8, largest 3.3
// Deviations are lower in large models: LLaMA is initialised with 0.02 at 4096 inputs and its
// residual outputs with 0.02 / sqrt(2 * layers) (Radford et al. 2019; Touvron et al. 2023 follow
// them), and trained LLaMA-7B matrices stay near 0.02. That a few dimensions of the residual stream
// and of the inputs of down_proj are many times stronger than the rest: Dettmers et al. 2022
// ("LLM.int8()", 6 – 7 of 4096 at this size), Sun et al. 2024 ("Massive Activations", LLaMA-7B).
#include "shape.h"

#include <algorithm>
#include <cmath>

namespace hexlane::synthetic {
namespace {

// 0.02 at 4096 inputs: a product of unit inputs has deviation kGain, whatever the width.
constexpr double kGain = 1.28;

double DeviationFor(double gain, int64_t inputs) {
  return gain / std::sqrt(static_cast<double>(inputs));
}

class Planner {
 public:
  explicit Planner(const ModelShape& shape) : shape_(shape) {}

  std::vector<TensorPlan> Run() {
    const int64_t hidden = shape_.hidden;
    const Distribution table = {.deviation = DeviationFor(kGain, hidden),
                                .row_spread = 0.18,
                                .column_spread = 0.29,
                                .outlier_column = 4,
                                .residual_columns = true};
    const Distribution head = {
        .deviation = DeviationFor(kGain, hidden), .row_spread = 0.15, .column_spread = 0.1};
    AddMatrix("model.embed_tokens", shape_.vocab, hidden, table);
    for (int64_t i = 0; i < shape_.layers; ++i) AddLayer(i);
    AddNorm("model.norm", 1.8);
    if (!shape_.tied) AddMatrix("lm_head", shape_.vocab, hidden, head);
    return std::move(plans_);
  }

 private:
  void AddMatrix(const std::string& name, int64_t rows, int64_t columns, Distribution d) {
    plans_.push_back({name + ".weight", rows, columns, d});
  }

  // A vector of gains: most near `center`, a few 2.5 times as large.
  void AddNorm(const std::string& name, double center) {
    const Distribution d = {.center = center, .deviation = 0.12 * center, .outlier_column = 2.5};
    plans_.push_back({name + ".weight", 0, shape_.hidden, d});
  }

  void AddLayer(int64_t index) {
    const std::string layer = fmt::format("model.layers.{}.", index);
    const double depth = static_cast<double>(index) / static_cast<double>(shape_.layers);
    const int64_t kv = shape_.kv_heads * shape_.head_dim();
    AddNorm(layer + "input_layernorm", 0.16 + 0.25 * depth);
    AddMatrix(layer + "self_attn.q_proj", shape_.hidden, shape_.hidden, Query());
    AddMatrix(layer + "self_attn.k_proj", kv, shape_.hidden, Query());
    AddMatrix(layer + "self_attn.v_proj", kv, shape_.hidden,
              {.deviation = DeviationFor(kGain, shape_.hidden),
               .row_spread = 0.15,
               .column_spread = 0.22});
    AddMatrix(layer + "self_attn.o_proj", shape_.hidden, shape_.hidden,
              Residual(shape_.hidden, {.column_spread = 0.2, .outlier_column = 3}));
    AddNorm(layer + "post_attention_layernorm", 0.2 + 0.12 * depth);
    for (const char* name : {"mlp.gate_proj", "mlp.up_proj"}) {
      AddMatrix(layer + name, shape_.ffn, shape_.hidden,
                {.deviation = DeviationFor(kGain, shape_.hidden),
                 .row_spread = 0.15,
                 .column_spread = 0.08});
    }
    AddMatrix(layer + "mlp.down_proj", shape_.hidden, shape_.ffn,
              Residual(shape_.ffn, {.column_spread = 0.1, .outlier_column = 4}));
  }

  // Of q and k: wider than the others, so that attention prefers some positions.
  Distribution Query() const {
    return {.deviation = DeviationFor(2 * kGain, shape_.hidden),
            .row_spread = 0.35,
            .column_spread = 0.12,
            .outlier_column = 2.5};
  }

  // Of a matrix whose result is added to the residual stream: 2 * layers such terms of variance
  // 1 / (2 * layers) keep the stream bounded whatever the depth.
  Distribution Residual(int64_t inputs, Distribution d) const {
    d.deviation = DeviationFor(kGain / std::sqrt(2.0 * static_cast<double>(shape_.layers)), inputs);
    d.row_spread = 0.15;
    d.outlier_row = 3;
    d.residual_rows = true;
    return d;
  }

  ModelShape shape_;
  std::vector<TensorPlan> plans_;
};

}  // namespace

Result<void> CheckShape(const ModelShape& shape) {
  const int64_t smallest = std::min({shape.layers, shape.hidden, shape.ffn, shape.heads,
                                     shape.kv_heads, shape.vocab, shape.max_context});
  const int64_t largest = std::max({shape.layers, shape.hidden, shape.ffn, shape.heads,
                                    shape.kv_heads, shape.vocab, shape.max_context});
  constexpr int64_t kLargest = 1 << 24;
  if (smallest < 1 || largest > kLargest)
    return Usage("a size is {}", smallest < 1 ? smallest : largest).Want("1 to {}", kLargest);
  if (shape.hidden % shape.heads || shape.head_dim() % 2) {
    return Usage("hidden {} with {} heads", shape.hidden, shape.heads)
        .Want("an even number of columns for each head");
  }
  if (shape.heads % shape.kv_heads) {
    return Usage("{} heads with {} kv heads", shape.heads, shape.kv_heads)
        .Want("heads that are a multiple of kv heads");
  }
  return {};
}

std::vector<TensorPlan> PlanTensors(const ModelShape& shape) { return Planner(shape).Run(); }

}  // namespace hexlane::synthetic
