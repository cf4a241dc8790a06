// The tape: what the CPU emitter writes and the CPU executor runs. A list of kernel calls on
// numbered buffers of [rows, columns] float32; weights go by their names in the package. The same
// tape serves every stage, since the CPU attends over the real length.
//
//   {"version": 1, "buffers": [576, 576, 1536], "input": 0, "output": 2, "activation_bits": 16,
//    "steps": [{"op": "rms_norm", "name": "layers.0.attn_norm", "in": [0], "out": 1,
//               "weights": ["layers.0.attn_norm.weight"], "eps": 1e-05}, …]}
#ifndef HEXLANE_BACKENDS_CPU_TAPE_TAPE_H_
#define HEXLANE_BACKENDS_CPU_TAPE_TAPE_H_

#include <optional>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/json.h"
#include "op/attrs.h"

namespace hexlane {

enum class TapeOp : uint8_t {
#define TAPE_OP(Name, text, buffers, weights, optional, Attrs) k##Name,
#include "backends/cpu/tape/tape_ops.def"
#undef TAPE_OP
};

struct TapeOpInfo {
  std::string_view name;
  size_t buffers = 0;           // read
  size_t weights = 0;           // required
  size_t optional_weights = 0;  // that may follow
  Attrs default_attrs;
};
const TapeOpInfo& Info(TapeOp op);

struct TapeStep {
  TapeOp op = TapeOp::kAdd;
  std::string name;  // of the value that is in `out` afterwards; observers see it under this name
  std::vector<int> in;
  int out = 0;
  std::vector<std::string> weights;
  bool accumulate = false;  // linear: add to what `out` holds
  Attrs attrs;
  // attention: how k and v are rounded before they are stored (8-bit caches); none: float16.
  std::optional<Encoding> k_encoding, v_encoding;
};

struct Tape {
  std::vector<int64_t> buffers;  // columns of each
  int input = -1;  // buffer that the run's input rows are put into; -1: the input is ids
  int output = 0;  // buffer that holds the result
  // Linear with packed weights rounds its input to so many bits per value, with a scale per row
  // and 32 columns: 16 is as good as exact, 8 is faster where many rows run at once.
  int activation_bits = 16;
  std::vector<TapeStep> steps;
};

Json ToJson(const Tape& tape);

// kCorrupt names the step and field. Checks numbers: known ops, as many buffers, weights and
// attributes as the op has, buffers that exist, sane columns. What depends on the weights' shapes
// is checked when the tape is loaded.
Result<Tape> TapeFromJson(const Json& json, std::string_view where);

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_CPU_TAPE_TAPE_H_
