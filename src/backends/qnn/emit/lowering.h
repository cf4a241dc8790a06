// Lowering of quantised units into one stage's QNN graph. Each op has a file with two functions,
// listed in rules.cc: why it cannot run on a target, and the QNN ops it becomes.
//
// An activation [rows, dim] of the IR is the QNN tensor [1, 1, rows, dim]; its encoding decides the
// element type (none: f16). f16 values are computed in f16, fixed-point ones in 16 bits: 8-bit
// values are widened before and reached by a conversion at the end. Only a linear layer from 8 to 8
// bits computes in 8. Linear layers, element-wise ops and norms may mix: they compute in f16 then,
// between a Dequantize and a Quantize.
#ifndef HEXLANE_BACKENDS_QNN_EMIT_LOWERING_H_
#define HEXLANE_BACKENDS_QNN_EMIT_LOWERING_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/qnn/driver/graph_builder.h"
#include "backends/qnn/io/contract.h"
#include "ir/graph.h"
#include "package/plan.h"
#include "target/target.h"

namespace hexlane::qnn {

struct StageOptions {
  StageShape shape;
  bool all_logits = false;
  std::vector<std::string> taps;  // IR values to add as outputs
  // Real distance (in units of q kᵀ before scaling) that hides a position in 16-bit graphs; the
  // largest need of all units: MaskDepth.
  float mask_depth = 0;
};

class Lowering {
 public:
  // `graph.inputs` and `outputs`, `contract.ropes` and `masks` are filled as units are lowered.
  Lowering(GraphBuilder& builder, const StageOptions& options, Contract& contract,
           GraphContract& graph);

  // Lowers the next unit. Its first input is the previous unit's output, or becomes the graph's
  // hidden input.
  Result<void> AddUnit(const Graph& unit);
  // Makes the last unit's output an output of the graph.
  Result<void> Finish();

  // --- for the op files ---
  const Graph& unit() const { return *unit_; }
  GraphBuilder& builder() { return builder_; }
  int64_t rows() const { return rows_; }  // 1 once the last row has been selected
  const StageShape& stage() const { return options_.shape; }
  const StageOptions& options() const { return options_; }

  // The value as [1, 1, rows, dim], or as [1, heads, rows, head_dim]; made from the other form when
  // needed.
  Result<Ref> Rows(ValueId id);
  Result<Ref> SplitHeads(ValueId id, int64_t head_dim);
  // The value, computed in its ComputeSpec: as rows of any shape, or as [1, heads, rows, head_dim].
  // Brings it into the value's encoding.
  Result<void> SetValue(ValueId id, Ref computed);
  Result<void> SetHeads(ValueId id, Ref computed);

  bool is_float(ValueId id) const;             // f16
  bool is_bytes(ValueId id) const;             // 8-bit fixed-point
  const Encoding& encoding(ValueId id) const;  // of a fixed-point value
  // Whether an op with these inputs and outputs computes in f16: one f16 value is enough, the
  // others are converted.
  bool computes_in_float(const Node& node) const;
  // The value as rows in f16, or a fixed-point value in 16 bits, whatever its own encoding.
  Result<Ref> FloatRows(ValueId id);
  Result<Ref> WideRows(ValueId id);
  // `x` of the value's own encoding, likewise.
  Result<Ref> Widen(ValueId id, Ref x);
  // Spec in which an op computes the value: its own, or 16 bits over the same range for an 8-bit
  // encoding.
  TensorSpec ComputeSpec(ValueId id, Shape shape) const;
  Shape RowsShape(int64_t dim) const { return {1, 1, rows_, dim}; }
  int layer() const;  // of the unit: the number in "layers.<i>"

  Result<Ref> Reshape(Ref x, Shape shape, std::string name);
  Result<Ref> Transpose(Ref x, std::vector<int32_t> perm,
                        std::string name);  // a Reshape where nothing moves
  // An output of the graph that holds x in its own spec, seen as `shape`.
  Result<void> AddOutput(Ref x, Shape shape, std::string name, BoundTensor bound);
  Result<Ref> AddInput(TensorSpec spec, std::string name, BoundTensor bound);

  // Stage-wide inputs, made on first use.
  Result<Ref> MaskInput(int64_t window, bool is_float);
  struct RopeInputs {
    Ref cos, sin;  // [1, 1, rows, head_dim]: cos cos and -sin sin
  };
  Result<RopeInputs> RopeTables(const Value& inv_freq, float scale, bool is_float);
  // Sums of the blocks of `block` columns of x: f16 [rows, columns / block]; shared by all linear
  // layers of one input.
  Result<Ref> BlockSums(Ref x, int64_t block);

 private:
  Result<void> AddHidden(ValueId id);
  Result<Ref> InOwnEncoding(ValueId id, Ref computed);
  Result<Ref> SelectLastRow(Ref hidden, ValueId id);
  Result<void> TapOutputs(const Node& node);
  Result<RopeInputs> NewRopeTables(int index, int64_t half, float scale, bool is_float);

  GraphBuilder& builder_;
  const StageOptions& options_;
  Contract& contract_;
  GraphContract& graph_;
  const Graph* unit_ = nullptr;
  std::vector<Ref> rows_of_;   // by ValueId of the unit
  std::vector<Ref> heads_of_;  // by ValueId of the unit
  int64_t rows_ = 0;
  std::string hidden_name_;  // IR name of what left the last unit
  Ref hidden_;
  std::optional<Encoding> hidden_encoding_;
  std::map<int64_t, Ref> masks_;  // by window
  std::map<std::string, RopeInputs> ropes_;
  std::map<std::pair<int32_t, int64_t>, Ref> block_sums_;  // by x and block
  std::map<int32_t, Ref> widened_;                         // by x
};

// One row of rules.cc.
struct Rule {
  OpKind op;
  std::optional<std::string> (*refuses)(const Graph& unit, const Node& node, const Target& target);
  Result<void> (*lower)(Lowering& lowering, const Node& node);
};
const Rule* FindRule(OpKind op);

// The mask depth this unit needs; 0 without 16-bit attention.
float MaskDepth(const Graph& unit);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_EMIT_LOWERING_H_
