// Encodings in the JSON that AIMET writes and QNN tools exchange: "param_encodings" of weights and
// "activation_encodings" of values, by name.
//   0.6.1  {name: [{"bitwidth", "dtype": "int", "min", "max", "scale", "offset", "is_symmetric"}…]}
//   1.0.0  [{"name", "bw", "dtype": "INT", "enc_type", "is_sym", "scale": […], "offset": […],
//            "block_size", …}…]
// real = (q + offset) · scale with unsigned q, also where symmetric.
#ifndef HEXLANE_QUANT_AIMET_H_
#define HEXLANE_QUANT_AIMET_H_

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/tensor.h"
#include "quant/overrides.h"

namespace hexlane {

bool IsAimet(const Json& json);

// A rule for each entry: weights get the form of schemes.def with as many bits that is nearest in
// blocks and symmetry (not these very scales: rounding fits its own), values their width and,
// fixed, their range. kCorrupt and kInvalidInput name the entry.
Result<std::vector<OverrideRule>> ReadAimet(const Json& json, std::string_view where);

// Entries of version 1.0.0. A plain weight or an encoding of floats is one of dtype FLOAT.
Json AimetWeight(std::string_view name, const TensorView& matrix);
Json AimetValue(std::string_view name, const Encoding& encoding);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_AIMET_H_
