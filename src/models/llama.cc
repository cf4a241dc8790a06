// LLaMA 1 to 3 and everything built like them (SmolLM, TinyLlama, …): pre-norm, grouped-query
// attention with rotary embeddings, SwiGLU. Touvron et al. 2023; Grattafiori et al. 2024.
#include "models/config.h"
#include "models/models.h"

namespace hexlane {
namespace {

using Rotary = TensorName::Rotary;
constexpr TensorName kTensors[] = {
    {"embed.weight", "model.embed_tokens.weight", "token_embd.weight"},
    {"layers.{}.attn_norm.weight", "model.layers.{}.input_layernorm.weight",
     "blk.{}.attn_norm.weight"},
    {"layers.{}.q_proj.weight", "model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight",
     Rotary::kQuery},
    {"layers.{}.q_proj.bias", "model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias",
     Rotary::kQuery},
    {"layers.{}.k_proj.weight", "model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight",
     Rotary::kKey},
    {"layers.{}.k_proj.bias", "model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias",
     Rotary::kKey},
    {"layers.{}.v_proj.weight", "model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"layers.{}.v_proj.bias", "model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
    {"layers.{}.o_proj.weight", "model.layers.{}.self_attn.o_proj.weight",
     "blk.{}.attn_output.weight"},
    {"layers.{}.o_proj.bias", "model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
    {"layers.{}.ffn_norm.weight", "model.layers.{}.post_attention_layernorm.weight",
     "blk.{}.ffn_norm.weight"},
    {"layers.{}.gate_proj.weight", "model.layers.{}.mlp.gate_proj.weight",
     "blk.{}.ffn_gate.weight"},
    {"layers.{}.gate_proj.bias", "model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {"layers.{}.up_proj.weight", "model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"layers.{}.up_proj.bias", "model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    {"layers.{}.down_proj.weight", "model.layers.{}.mlp.down_proj.weight",
     "blk.{}.ffn_down.weight"},
    {"layers.{}.down_proj.bias", "model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
    {"layers.{}.q_norm.weight", "model.layers.{}.self_attn.q_norm.weight",
     "blk.{}.attn_q_norm.weight"},
    {"layers.{}.k_norm.weight", "model.layers.{}.self_attn.k_norm.weight",
     "blk.{}.attn_k_norm.weight"},
    {"final_norm.weight", "model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "lm_head.weight", "output.weight"},
};

// `which`: q or k
ValueId QueryOrKey(UnitBuilder& b, const std::string& which, ValueId x, int64_t dim) {
  ValueId heads = b.Linear(which + "_proj", x, which + "_proj", dim, b.config().qkv_bias);
  if (b.config().qk_norm) heads = b.HeadNorm(which + "_norm", heads, which + "_norm.weight");
  return b.Rope(which, heads);
}

}  // namespace

std::span<const TensorName> LlamaTensors() { return kTensors; }

Result<DecoderConfig> ReadLlamaConfig(const Checkpoint& checkpoint) {
  DecoderConfig config = TRY(ReadDecoderConfig(checkpoint, "llama"));
  TRY(CheckBiases(checkpoint, config));
  return config;
}

Result<ValueId> BuildLlamaLayer(UnitBuilder& b, ValueId hidden) {
  const DecoderConfig& c = b.config();
  const int64_t q_dim = c.heads * c.head_dim, kv_dim = c.kv_heads * c.head_dim;
  const ValueId x = b.RmsNorm("attn_norm", hidden, "attn_norm.weight");
  const ValueId q = QueryOrKey(b, "q", x, q_dim), k = QueryOrKey(b, "k", x, kv_dim);
  const ValueId v = b.Linear("v", x, "v_proj", kv_dim, c.qkv_bias);
  const ValueId attention = b.Attention("attn", q, k, v);
  const ValueId o = b.Linear("o_proj", attention, "o_proj", c.hidden, c.output_bias);
  const ValueId middle = b.Add("attn_add", hidden, o);
  const ValueId y = b.RmsNorm("ffn_norm", middle, "ffn_norm.weight");
  return b.Add("out", middle, b.SwiGlu(y));
}

}  // namespace hexlane
