// Weights of a decoder by our names, whatever the format calls them.
#ifndef HEXLANE_MODELS_WEIGHTS_H_
#define HEXLANE_MODELS_WEIGHTS_H_

#include "models/decoder.h"

namespace hexlane {

// The weight called `name` (tensor.name with the layer's number in place of {}), of shape `want`,
// in the form the checkpoint has it: plain floats mapped from the file, 4- and 8-bit blocks packed
// exactly, anything else as float32.
Result<Tensor> LoadWeight(const Decoder& decoder, std::string_view name, const Shape& want);

}  // namespace hexlane

#endif  // HEXLANE_MODELS_WEIGHTS_H_
