// Hyperparameters as most decoders name them: config.json's keys, or GGUF's below a prefix.
#ifndef HEXLANE_MODELS_CONFIG_H_
#define HEXLANE_MODELS_CONFIG_H_

#include <string_view>

#include "models/decoder.h"

namespace hexlane {

// `gguf_prefix`: of GGUF's keys, "llama". kCorrupt or kInvalidInput names the field.
Result<DecoderConfig> ReadDecoderConfig(const Checkpoint& checkpoint, std::string_view gguf_prefix);

// kInvalidInput names a bias of the checkpoint that `config` would leave out.
Result<void> CheckBiases(const Checkpoint& checkpoint, const DecoderConfig& config);

}  // namespace hexlane

#endif  // HEXLANE_MODELS_CONFIG_H_
