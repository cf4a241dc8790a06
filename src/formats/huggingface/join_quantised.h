// Quantised matrices of a Hugging Face folder as single tensors.
#ifndef HEXLANE_FORMATS_HUGGINGFACE_JOIN_QUANTISED_H_
#define HEXLANE_FORMATS_HUGGINGFACE_JOIN_QUANTISED_H_

#include "formats/format.h"

namespace hexlane {

// Where parts.config names a quantisation (quantised_layout.h), puts one tensor "X.weight" [n, k]
// in place of the several that store the matrix of the linear layer X. Its bytes, file and offset
// are those of the integers. kCorrupt and kUnsupported name the tensor, what is missing or wrong
// and what is handled.
Result<void> JoinQuantised(CheckpointParts& parts);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_HUGGINGFACE_JOIN_QUANTISED_H_
