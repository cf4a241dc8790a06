// Layers that architectures are made of. A UnitBuilder adds nodes to one unit's graph and loads the
// weights they name; the first failure sticks and every later call returns kNone, so that a layer
// reads like its paper.
#ifndef HEXLANE_MODELS_BLOCKS_H_
#define HEXLANE_MODELS_BLOCKS_H_

#include "models/decoder.h"

namespace hexlane {

class UnitBuilder {
 public:
  // `layer` < 0: the embedding or the head, whose names have no prefix.
  UnitBuilder(const Decoder& decoder, std::string unit_name, int layer);

  const DecoderConfig& config() const { return decoder_.config(); }

  ValueId Input(std::string_view name, Shape shape, DType dtype = DType::kF32);
  ValueId Embedding(std::string_view name, ValueId ids, std::string_view table);
  ValueId RmsNorm(std::string_view name, ValueId x, std::string_view weight);
  // Every head by itself; the weight is shared by the heads.
  ValueId HeadNorm(std::string_view name, ValueId x, std::string_view weight);
  // x wᵀ (+ bias): weight `linear`.weight [n, k], and `linear`.bias when `bias`.
  ValueId Linear(std::string_view name, ValueId x, std::string_view linear, int64_t n,
                 bool bias = false);
  ValueId Rope(std::string_view name, ValueId x);
  // Causal attention over the layer's cache; adds inputs past_k, past_v, past_len and marks k, v as
  // outputs.
  ValueId Attention(std::string_view name, ValueId q, ValueId k, ValueId v);
  ValueId Add(std::string_view name, ValueId a, ValueId b);
  // down(silu(gate(x)) · up(x)). Shazeer 2020, "GLU Variants Improve Transformer".
  ValueId SwiGlu(ValueId x);

  // The graph with `output` marked first, or the first failure.
  Result<Graph> Finish(ValueId output) &&;

 private:
  std::string Name(std::string_view name) const { return prefix_ + std::string(name); }
  ValueId Node(OpKind op, std::string_view name, std::vector<ValueId> inputs, Attrs attrs = {});
  ValueId Weight(std::string_view name, const Shape& shape);
  ValueId PastLen();

  const Decoder& decoder_;
  Graph graph_;
  std::string prefix_;                  // "layers.3."
  std::vector<ValueId> cache_outputs_;  // k, v
  std::optional<Error> error_;
};

}  // namespace hexlane

#endif  // HEXLANE_MODELS_BLOCKS_H_
