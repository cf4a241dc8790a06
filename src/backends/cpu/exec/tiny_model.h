// A one-layer LLaMA as a tape with random weights, and the same computed with the plain kernels.
// For tests.
#ifndef HEXLANE_BACKENDS_CPU_EXEC_TINY_MODEL_H_
#define HEXLANE_BACKENDS_CPU_EXEC_TINY_MODEL_H_

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/tape/tape.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/float.h"
#include "kernels/norm/norm.h"
#include "kernels/pack/pack.h"
#include "kernels/pack/random_matrix.h"
#include "kernels/rope/rope.h"
#include "package/testing.h"

namespace hexlane::testing {

class TinyModel {
 public:
  static constexpr int64_t kHidden = 8, kFfn = 24, kVocab = 32, kHeads = 2, kHeadDim = 8;

  // kPlain: float32 weights.
  explicit TinyModel(Scheme scheme) : scheme_(scheme) {
    Add("embed", kVocab, kHidden);
    for (const char* name : {"q", "o", "k", "v", "gate", "up", "down", "head"}) {
      const std::string_view n = name;
      const int64_t rows = n == "q"                   ? kHeads * kHeadDim
                           : n == "head"              ? kVocab
                           : n == "gate" || n == "up" ? kFfn
                                                      : kHidden;
      Add(name, rows, n == "o" ? kHeads * kHeadDim : n == "down" ? kFfn : kHidden);
    }
    weights["norm"] = Tensor::FromFloats(std::vector<float>(kHidden, 1.5f), {kHidden});
    weights["freq"] = Tensor::FromFloats({1, 0.5f, 0.25f, 0.1f}, {kHeadDim / 2});
  }

  // Buffers: 0 hidden, 1 norm, 2 q, 3 k, 4 v, 5 attention, 6 gate, 7 up, 8 logits.
  Tape MakeTape() const {
    Tape tape{.buffers = {8, 8, 16, 8, 8, 16, 24, 24, 32}, .input = -1, .output = 8, .steps = {}};
    const auto add = [&](TapeOp op, std::string name, std::vector<int> in, int out,
                         std::vector<std::string> names, Attrs attrs = {}, bool sum = false) {
      tape.steps.push_back({op, std::move(name), std::move(in), out, std::move(names), sum, attrs,
                            std::nullopt, std::nullopt});
    };
    const RmsNormAttrs norm{.eps = 1e-5f};
    const RopeAttrs rope{.head_dim = kHeadDim};
    const AttentionAttrs attention{
        .heads = kHeads, .kv_heads = 1, .head_dim = kHeadDim, .scale = 0.35f};
    add(TapeOp::kEmbedding, "embed.out", {}, 0, {"embed"});
    add(TapeOp::kRmsNorm, "attn_norm", {0}, 1, {"norm"}, norm);
    add(TapeOp::kLinear, "q", {1}, 2, {"q"});
    add(TapeOp::kLinear, "k", {1}, 3, {"k"});
    add(TapeOp::kLinear, "v", {1}, 4, {"v"});
    add(TapeOp::kRope, "q_rope", {2}, 2, {"freq"}, rope);
    add(TapeOp::kRope, "k_rope", {3}, 3, {"freq"}, rope);
    add(TapeOp::kAttention, "attn", {2, 3, 4}, 5, {}, attention);
    add(TapeOp::kLinear, "attn_out", {5}, 0, {"o"}, {}, true);
    add(TapeOp::kRmsNorm, "mlp_norm", {0}, 1, {"norm"}, norm);
    add(TapeOp::kLinear, "gate", {1}, 6, {"gate"});
    add(TapeOp::kLinear, "up", {1}, 7, {"up"});
    add(TapeOp::kSiluMul, "gated", {6, 7}, 6, {});
    add(TapeOp::kLinear, "out", {6}, 0, {"down"}, {}, true);
    add(TapeOp::kRmsNorm, "final_norm", {0}, 1, {"norm"}, norm);
    add(TapeOp::kLinear, "logits", {1}, 8, {"head"});
    return tape;
  }

  // Logits [ids.size(), kVocab] with the plain float kernels.
  std::vector<float> Logits(const std::vector<int32_t>& ids) const {
    const auto rows = static_cast<int64_t>(ids.size());
    std::vector<float> hidden;
    for (const int32_t id : ids) {
      const auto row = values_.at("embed").begin() + id * kHidden;
      hidden.insert(hidden.end(), row, row + kHidden);
    }
    std::vector<float> norm = Norm(hidden), q = Linear(norm, "q", rows),
                       k = Linear(norm, "k", rows);
    const std::vector<float> v = Linear(norm, "v", rows);
    std::vector<float> attention(q.size());
    for (std::vector<float>* x : {&q, &k}) {
      const Rows all{x->data(), rows, static_cast<int64_t>(x->size()) / rows};
      Rope(all, {.head_dim = kHeadDim, .inv_freq = weights.at("freq").floats()}, all);
    }
    AttentionArgs args;
    args.q = {q.data(), rows, kHeads * kHeadDim};
    args.k = {k.data(), rows, kHeadDim};
    args.v = {v.data(), rows, kHeadDim};
    args.heads = kHeads, args.kv_heads = 1, args.head_dim = kHeadDim, args.scale = 0.35f;
    Attention(args, {attention.data(), rows, kHeads * kHeadDim});
    hexlane::Add(hidden, Linear(attention, "o", rows), hidden);
    norm = Norm(hidden);
    std::vector<float> gate = Linear(norm, "gate", rows);
    SiluMul(gate, Linear(norm, "up", rows), gate);
    hexlane::Add(hidden, Linear(gate, "down", rows), hidden);
    return Linear(Norm(hidden), "head", rows);
  }

  std::map<std::string, Tensor, std::less<>> weights;

  // A package whose only variant runs `tape` on the CPU in one part.
  Result<std::shared_ptr<const Package>> Write(const std::filesystem::path& directory,
                                               const Json& tape) const {
    auto writer = TRY(PackageWriter::Create(directory));
    for (const auto& [name, tensor] : weights) TRY(writer.AddWeight(name, tensor.view()));
    TRY(writer.SealWeights());
    TRY(writer.AddText("cpu/tape.json", tape.dump()));
    Manifest manifest = TinyManifest();
    Variant& variant = manifest.plan.variants[0];
    variant.name = "cpu";
    variant.parts[0].backend = "cpu";
    variant.parts[0].files = {"cpu/tape.json"};
    TRY(writer.Finish(manifest));
    return Package::Open(directory, {});
  }

 private:
  void Add(const std::string& name, int64_t n, int64_t k) {
    std::vector<float>& values = values_[name];
    values.resize(static_cast<size_t>(n * k));
    const auto seed = static_cast<unsigned>(values_.size());
    if (scheme_ != Scheme::kPlain) {
      QuantizedMatrix matrix = RandomMatrix(scheme_, n, k, seed);
      weights[name] = Pack(matrix);
      DequantizeRows(weights[name].view(), 0, n, values.data());
      return;
    }
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal(0, 0.5f);
    for (float& x : values) x = normal(rng);
    weights[name] = Tensor::FromFloats(values, {n, k});
  }

  std::vector<float> Norm(const std::vector<float>& x) const {
    std::vector<float> y(x.size());
    const auto rows = static_cast<int64_t>(x.size()) / kHidden;
    RmsNorm({x.data(), rows, kHidden}, weights.at("norm").floats(), 1e-5f,
            {y.data(), rows, kHidden});
    return y;
  }

  std::vector<float> Linear(const std::vector<float>& x, const std::string& name,
                            int64_t rows) const {
    const Shape& shape = weights.at(name).shape();
    std::vector<float> y(static_cast<size_t>(rows * shape[0]));
    MatMulFloat({x.data(), rows, shape[1]},
                {std::as_bytes(std::span(values_.at(name))), shape, DType::kF32}, {},
                {y.data(), rows, shape[0]});
    return y;
  }

  Scheme scheme_;
  std::map<std::string, std::vector<float>> values_;  // of the matrices, as float32
};

}  // namespace hexlane::testing

#endif  // HEXLANE_BACKENDS_CPU_EXEC_TINY_MODEL_H_
