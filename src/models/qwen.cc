// Qwen 2 and 2.5: LLaMA's layer with biases on q, k and v (Yang et al. 2024). Qwen 3: norms on the
// heads of q and k instead (Yang et al. 2025). In GGUF files the rows of q and k are rotate-half.
#include <vector>

#include "base/json.h"
#include "models/config.h"
#include "models/models.h"

namespace hexlane {
namespace {

std::vector<TensorName> MakeTensors() {
  std::vector<TensorName> tensors(LlamaTensors().begin(), LlamaTensors().end());
  for (TensorName& tensor : tensors) tensor.rotary = TensorName::Rotary::kNo;
  return tensors;
}

std::span<const TensorName> Tensors() {
  static const std::vector<TensorName> tensors = MakeTensors();
  return tensors;
}

// Layers that attend over a window alone are another computation.
Result<void> CheckWindow(const Checkpoint& checkpoint) {
  const std::string where = checkpoint.where() + "/config.json";
  if (checkpoint.format() == "gguf") return {};
  if (!TRY(JsonFieldOr<bool>(checkpoint.config(), "use_sliding_window", false, where))) return {};
  return Unsupported("use_sliding_window true").At("{}", where).Want("false");
}

// LLaMA's hyperparameters, and that layers have `feature`.
Result<DecoderConfig> ReadConfig(const Checkpoint& checkpoint, std::string_view family,
                                 bool DecoderConfig::* feature) {
  DecoderConfig config = TRY(ReadDecoderConfig(checkpoint, family));
  config.*feature = true;
  TRY(CheckWindow(checkpoint));
  TRY(CheckBiases(checkpoint, config));
  return config;
}

}  // namespace

std::span<const TensorName> Qwen2Tensors() { return Tensors(); }
std::span<const TensorName> Qwen3Tensors() { return Tensors(); }

Result<DecoderConfig> ReadQwen2Config(const Checkpoint& checkpoint) {
  return ReadConfig(checkpoint, "qwen2", &DecoderConfig::qkv_bias);
}

Result<DecoderConfig> ReadQwen3Config(const Checkpoint& checkpoint) {
  return ReadConfig(checkpoint, "qwen3", &DecoderConfig::qk_norm);
}

Result<ValueId> BuildQwen2Layer(UnitBuilder& b, ValueId hidden) {
  return BuildLlamaLayer(b, hidden);
}
Result<ValueId> BuildQwen3Layer(UnitBuilder& b, ValueId hidden) {
  return BuildLlamaLayer(b, hidden);
}

}  // namespace hexlane
