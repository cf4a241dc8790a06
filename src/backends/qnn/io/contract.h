// What a compiled part expects and gives: every graph's tensors with their roles, encodings and
// ids. Written by emit/ as JSON into the package (docs/qnn.md has the schema), read by exec/ and by
// anyone who drives the binaries himself.
#ifndef HEXLANE_BACKENDS_QNN_IO_CONTRACT_H_
#define HEXLANE_BACKENDS_QNN_IO_CONTRACT_H_

#include <string>
#include <string_view>
#include <vector>

#include "backends/qnn/driver/tensor.h"
#include "base/json.h"

namespace hexlane::qnn {

// What a tensor of the graph's interface is for. M rows, P = context - rows past positions, C =
// context.
enum class Role {
  kIds,        // in i32 [1, M]: tokens, of a part that has the embedding
  kHidden,     // in or out [1, 1, M, hidden]
  kLogits,     // out [1, 1, M or 1, vocab]
  kCos,        // in [1, 1, M, head_dim / 2]
  kSin,        // in, the same
  kMask,       // in [1, 1, M, C]: 0 visible, Mask::hidden otherwise; past columns first
  kLastRow,    // in i32 [1]: the row whose logits are wanted
  kPastKey,    // in [kv_heads, 1, head_dim, P]
  kPastValue,  // in [kv_heads, 1, P, head_dim]
  kNewKey,     // out [kv_heads, 1, head_dim, M]
  kNewValue,   // out [kv_heads, 1, M, head_dim]
  kTap,        // out: a value of the IR, for verification
};

struct BoundTensor {
  Role role = Role::kHidden;
  int index = 0;      // layer (keys, values), table (cos, sin), mask
  std::string value;  // IR name of hidden states and taps
  TensorInfo info;
};

struct GraphContract {
  std::string name;  // StageShape::name()
  std::string file;  // in the package
  int rows = 1;
  int context = 1;
  std::vector<BoundTensor> inputs, outputs;  // in the order that CompiledGraph has them

  int past() const { return context - rows; }
};

struct RopeTable {
  std::vector<float> inv_freq;  // radians per position
  float scale = 1;              // of cos and sin
};

struct Mask {
  int64_t window = 0;  // row i sees positions i-window+1 … i; 0: all before it
  float hidden = 0;    // real value of hidden positions
};

struct Contract {
  uint32_t soc = 0;
  std::vector<RopeTable> ropes;
  std::vector<Mask> masks;
  std::vector<GraphContract> graphs;
};

Json ToJson(const Contract& contract);
// kCorrupt names the field. Everything that execution relies on is checked: shapes against roles,
// indices in range.
Result<Contract> ContractFromJson(const Json& json, std::string_view where);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_IO_CONTRACT_H_
