// How GPTQ, AWQ and compressed-tensors lay a quantised matrix out in safetensors, as data.
#ifndef HEXLANE_FORMATS_HUGGINGFACE_QUANTISED_LAYOUT_H_
#define HEXLANE_FORMATS_HUGGINGFACE_QUANTISED_LAYOUT_H_

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "formats/grouped/packed_integers.h"

namespace hexlane {

// W [n, k] is stored as tensors named X + suffix, for the linear layer X.
//
//                        integers              zero points            scales        z in the file
//   gptq                 [k / c, n] along k    [groups, n / c]        [groups, n]   z - 1 or z
//   awq ("gemm")         [k, n / c] along n    [groups, n / c]        [groups, n]   z
//   compressed-tensors   [n, k / c] along k    [n / c, groups]        [n, groups]   z
//   ("pack-quantized")
//
// with c = 32 / bits integers in a word. Zero points are always packed along n. AWQ's words hold
// their neighbours in another order. compressed-tensors counts from -2^(bits-1), stored with that
// added: the same integers.
struct QuantisedLayout {
  std::string_view method;  // quant_method
  std::string_view integers, zeros, scales;
  std::string_view group_index = "";  // I32 [k], the group of each column
  std::string_view shape = "";        // I64 [2]: n, k; "": follows from the integers and the bits
  bool transposed = false;            // inputs first
  bool packed_along_outputs = false;
  WordOrder order = kInOrder;
};

// How matrices of a folder are quantised.
struct QuantisedForm {
  int64_t bits = 0;
  int64_t group_size = 0;        // -1: one group a row
  bool has_zeros = true;         // zero points are stored
  bool has_group_index = false;  // columns are in an order of their own
};

// What quantization_config says of a folder.
struct QuantisedFormat {
  const QuantisedLayout* layout = nullptr;
  std::vector<QuantisedForm>
      forms;  // a matrix has one of them; several in compressed-tensors alone
  int zero_bias = 0;
};

// nullopt where config.json names no quantisation. kUnsupported names a method, a number of bits or
// a variant that is not handled, and those that are; kCorrupt fields that contradict each other.
Result<std::optional<QuantisedFormat>> ReadQuantisedFormat(const Json& config,
                                                           std::string_view where);

// The suffix of `name` where it is that of some layout's integers; "" otherwise.
std::string_view IntegersSuffix(std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_HUGGINGFACE_QUANTISED_LAYOUT_H_
