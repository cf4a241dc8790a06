// Decoder-only language models as data: hyperparameters and tensor names, the same whatever format
// they came from, and the units (embedding, layers, head) that a checkpoint becomes.
#ifndef HEXLANE_MODELS_DECODER_H_
#define HEXLANE_MODELS_DECODER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint.h"
#include "ir/graph.h"

namespace hexlane {

struct DecoderConfig {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  int64_t vocab = 0;
  int64_t max_context = 0;
  float norm_eps = 1e-5f;
  bool tied = false;         // lm_head is the embedding table
  bool qkv_bias = false;     // on q, k and v
  bool output_bias = false;  // on o
  bool qk_norm = false;      // each head of q and k goes through an RmsNorm
  bool mlp_bias = false;
  std::vector<float> inv_freq;  // [rotary_dim / 2], scaling included, radians per position
  float rope_scale = 1;         // YaRN's attention factor
  std::vector<int32_t> eos_ids;
};

// Where a weight is found in each format; {} stands for the layer's number.
struct TensorName {
  std::string_view name;  // ours: "layers.{}.q_proj.weight"
  std::string_view hugging_face;
  std::string_view gguf;
  // GGUF files of LLaMA store the rows of q and k in the interleaved RoPE order of the original
  // code; ours are rotate-half. Heads of such a tensor: 0 when it is not one.
  enum class Rotary { kNo, kQuery, kKey } rotary = Rotary::kNo;
};

class UnitBuilder;

// One row of models.def.
struct Architecture {
  std::string_view name;
  std::string_view hugging_face;  // entry of config.json's "architectures"
  std::string_view gguf;          // value of "general.architecture"
  std::span<const TensorName> tensors;
  Result<DecoderConfig> (*read_config)(const Checkpoint& checkpoint);
  // Adds layer `builder.layer()` between builder.hidden() and the unit's output.
  Result<ValueId> (*build_layer)(UnitBuilder& builder, ValueId hidden);
};

// A checkpoint of a known architecture. Immutable; keeps the checkpoint alive.
class Decoder {
 public:
  // kUnsupported names the architecture and those known; kCorrupt or kInvalidInput names the field
  // of the config.
  static Result<std::shared_ptr<const Decoder>> Open(std::shared_ptr<const Checkpoint> checkpoint);

  const Architecture& architecture() const { return *architecture_; }
  const DecoderConfig& config() const { return config_; }
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  std::shared_ptr<const Checkpoint> shared_checkpoint() const { return checkpoint_; }

  // Unit 0: embedding (ids → embed.out). Units 1…layers: layers.<i> (hidden, past_k, past_v,
  // past_len → out, k, v). Unit layers+1: head (hidden → logits).
  int unit_count() const { return static_cast<int>(config_.layers) + 2; }
  // Errors name the tensor, the shape wanted and the one found.
  Result<Graph> Build(int unit) const;

 private:
  friend class UnitBuilder;
  Decoder(std::shared_ptr<const Checkpoint> checkpoint, const Architecture* architecture,
          DecoderConfig config)
      : checkpoint_(std::move(checkpoint)),
        architecture_(architecture),
        config_(std::move(config)) {}

  std::shared_ptr<const Checkpoint> checkpoint_;
  const Architecture* architecture_;
  DecoderConfig config_;
};

// Name of the hidden state that leaves unit `unit`: embed.out, layers.<i>.out.
std::string UnitOutputName(int unit);

}  // namespace hexlane

#endif  // HEXLANE_MODELS_DECODER_H_
