// Weights of a decoder by our names, whatever the format calls them.
#ifndef HEXLANE_MODELS_WEIGHTS_H_
#define HEXLANE_MODELS_WEIGHTS_H_

#include "models/decoder.h"

namespace hexlane {

// The weight called `name` (tensor.name with the layer's number in place of {}), of shape `want`,
// in the form the checkpoint has it: plain floats mapped from the file, integers in blocks or
// groups packed (Checkpoint::ReadKept), anything else as float32.
Result<Tensor> LoadWeight(const Decoder& decoder, std::string_view name, const Shape& want);

// Whether the weight is stored in floats; false where there is none of that name.
bool IsStoredInFloats(const Decoder& decoder, std::string_view name);

// The checkpoint's own values of a matrix that LoadWeight has packed, for what the packing lost;
// empty where that is nothing. Valid while `decoder` is.
RowReader StoredRows(const Decoder& decoder, std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_MODELS_WEIGHTS_H_
