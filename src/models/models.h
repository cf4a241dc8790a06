// The table of models.def.
#ifndef HEXLANE_MODELS_MODELS_H_
#define HEXLANE_MODELS_MODELS_H_

#include "models/blocks.h"
#include "models/decoder.h"

namespace hexlane {

#define MODEL(Name, name, hf, gguf)                            \
  std::span<const TensorName> Name##Tensors();                 \
  Result<DecoderConfig> Read##Name##Config(const Checkpoint&); \
  Result<ValueId> Build##Name##Layer(UnitBuilder&, ValueId);
#include "models/models.def"
#undef MODEL

}  // namespace hexlane

#endif  // HEXLANE_MODELS_MODELS_H_
