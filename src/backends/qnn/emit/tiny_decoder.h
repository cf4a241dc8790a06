// For tests: a two-layer decoder with random weights, its quantised units and what they compute in
// exact arithmetic.
#ifndef HEXLANE_BACKENDS_QNN_EMIT_TINY_DECODER_H_
#define HEXLANE_BACKENDS_QNN_EMIT_TINY_DECODER_H_

#include <map>
#include <random>

#include "backends/emitter.h"
#include "backends/qnn/driver/must.h"
#include "interp/decoder_run.h"
#include "kernels/pack/pack.h"
#include "op/dims.h"
#include "quant/quantize_unit.h"
#include "quant/weights.h"

namespace hexlane::qnn {

struct TinyDecoder {
  static constexpr int64_t kHidden = 64, kHeads = 4, kKvHeads = 2, kHeadDim = 16, kFfn = 128,
                           kVocab = 128;
  bool stored_blocks = false;  // matrices as a Q4_1 file has them
  std::mt19937 engine{7};

  Tensor Random(Shape shape, float range) {
    std::normal_distribution<float> normal(0, range);
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (float& value : values) value = normal(engine);
    return Tensor::FromFloats(std::move(values), shape);
  }
  Tensor Matrix(int64_t n, int64_t k, Scheme stored = Scheme::kW4Affine32) {
    const Tensor plain = Random({n, k}, 1.5f / std::sqrt(static_cast<float>(k)));
    if (!stored_blocks) return plain;
    return Pack(MUST(QuantizeWeights({plain.floats(), n, k, "w"}, stored)));
  }

  Graph Embedding() {
    Graph unit("embed");
    const ValueId ids = unit.AddInput("ids", {kRows}, DType::kI32);
    const ValueId table = unit.AddConstant("embed.weight", Random({kVocab, kHidden}, 1));
    unit.MarkOutput(MUST(unit.Add(OpKind::kEmbedding, "embed.out", {ids, table})));
    return unit;
  }

  Graph Layer(int index, const std::string& input) {
    const std::string prefix = fmt::format("layers.{}.", index);
    Graph unit(fmt::format("layers.{}", index));
    const ValueId x = unit.AddInput(input, {kRows, kHidden});
    const ValueId past_len = unit.AddInput("past_len", {1}, DType::kI32);
    const ValueId past_k = unit.AddInput(prefix + "past_k", {kPast, kKvHeads * kHeadDim});
    const ValueId past_v = unit.AddInput(prefix + "past_v", {kPast, kKvHeads * kHeadDim});
    std::vector<float> frequencies;
    for (int i = 0; i < kHeadDim / 2; ++i)
      frequencies.push_back(std::pow(10000.0f, -2.0f * static_cast<float>(i) / kHeadDim));
    const ValueId inv_freq =
        unit.AddConstant("rope.inv_freq", Tensor::FromFloats(frequencies, {kHeadDim / 2}));
    const auto add = [&](OpKind op, const char* name, std::vector<ValueId> in, Attrs attrs = {}) {
      return MUST(unit.Add(op, prefix + name, std::move(in), attrs));
    };
    const auto linear = [&](const char* name, ValueId in, int64_t n) {
      const int64_t k = unit.value(in).shape.last();
      return add(OpKind::kLinear, name,
                 {in, unit.AddConstant(prefix + name + ".weight", Matrix(n, k))});
    };
    const auto norm = [&](const char* name, ValueId in) {
      const ValueId w = unit.AddConstant(prefix + name + ".weight", Random({kHidden}, 1));
      return add(OpKind::kRmsNorm, name, {in, w}, RmsNormAttrs{});
    };
    const auto rope = [&](const char* name, ValueId in) {
      return add(OpKind::kRope, name, {in, past_len, inv_freq}, RopeAttrs{.head_dim = kHeadDim});
    };
    const ValueId normed = norm("attn_norm", x);
    const ValueId q = rope("q", linear("q_proj", normed, kHeads * kHeadDim));
    const ValueId k = rope("k", linear("k_proj", normed, kKvHeads * kHeadDim));
    const ValueId v = linear("v_proj", normed, kKvHeads * kHeadDim);
    const ValueId mixed =
        add(OpKind::kAttention, "attn", {q, k, v, past_k, past_v, past_len},
            AttentionAttrs{
                .heads = kHeads, .kv_heads = kKvHeads, .head_dim = kHeadDim, .scale = 0.25f});
    const ValueId middle = add(OpKind::kAdd, "middle", {x, linear("o_proj", mixed, kHidden)});
    const ValueId normed2 = norm("ffn_norm", middle);
    const ValueId gate = add(OpKind::kSilu, "silu", {linear("gate_proj", normed2, kFfn)});
    const ValueId gated = add(OpKind::kMul, "gated", {gate, linear("up_proj", normed2, kFfn)});
    const ValueId out = add(OpKind::kAdd, "out", {middle, linear("down_proj", gated, kHidden)});
    for (const ValueId output : {out, k, v}) unit.MarkOutput(output);
    return unit;
  }

  Graph Head(const std::string& input) {
    Graph unit("head");
    const ValueId x = unit.AddInput(input, {kRows, kHidden});
    const ValueId norm = unit.AddConstant("final_norm.weight", Random({kHidden}, 1));
    const ValueId normed =
        MUST(unit.Add(OpKind::kRmsNorm, "final_norm", {x, norm}, RmsNormAttrs{}));
    const ValueId w =
        unit.AddConstant("lm_head.weight", Matrix(kVocab, kHidden, Scheme::kW8Block32));
    unit.MarkOutput(MUST(unit.Add(OpKind::kLinear, "logits", {normed, w})));
    return unit;
  }
};

// The decoder quantised by a scheme, and every unit's output for `ids`, computed with fake
// quantisation.
struct QuantisedDecoder {
  std::vector<Graph> units;
  std::map<std::string, std::vector<float>> outputs;

  QuantisedDecoder(const std::string& scheme_name, int kv_bits, const std::vector<int32_t>& ids) {
    TinyDecoder decoder;
    const QuantScheme* scheme = MUST(FindQuantScheme(scheme_name));
    decoder.stored_blocks = scheme->keeps_stored;
    units.push_back(decoder.Embedding());
    units.push_back(decoder.Layer(0, "embed.out"));
    units.push_back(decoder.Layer(1, "layers.0.out"));
    units.push_back(decoder.Head("layers.1.out"));
    Calibrator calibrator({ids});
    DecoderRun run({ids});
    for (Graph& unit : units) {
      const bool last = &unit == &units.back();
      MUST(calibrator.Advance(unit, last));
      MUST(QuantizeUnit(unit, {.options = {scheme, kv_bits}, .ranges = &calibrator.ranges()}));
      auto& out = outputs[unit.value(unit.outputs()[0]).name];
      const auto keep = [&](size_t, std::vector<float> logits) -> Result<void> {
        out = std::move(logits);
        return {};
      };
      MUST(run.Advance(unit, {.fake_quantise = true}, {}, last ? keep : DecoderRun::Sink()));
      if (!last) out.assign(run.hidden(0).begin(), run.hidden(0).end());
    }
  }

  UnitSource source() const {
    return {static_cast<int>(units.size()),
            [this](int unit) -> Result<Graph> { return units[unit]; }};
  }
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_EMIT_TINY_DECODER_H_
