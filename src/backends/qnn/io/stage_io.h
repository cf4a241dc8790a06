// The host buffers of one compiled stage, and what fills and reads them. The KV cache is the
// caller's affair.
#ifndef HEXLANE_BACKENDS_QNN_IO_STAGE_IO_H_
#define HEXLANE_BACKENDS_QNN_IO_STAGE_IO_H_

#include <optional>
#include <span>
#include <vector>

#include "backends/qnn/driver/compiled_graph.h"
#include "backends/qnn/io/contract.h"

namespace hexlane::qnn {

class StageIo {
 public:
  // `contract` and `graph` (one of contract.graphs) must outlive this. Cache inputs start as zeros.
  StageIo(const Contract& contract, const GraphContract& graph);

  struct Step {
    int rows = 1;                   // valid rows ≤ graph.rows
    int64_t past_len = 0;           // cached positions ≤ graph.past()
    std::span<const float> hidden;  // [rows, hidden]; or, of a part that has the embedding:
    std::span<const int32_t> ids;   // [rows]
  };
  // Encodes hidden states, rotary tables, masks and the last row; rows past step.rows repeat
  // harmless values.
  Result<void> Fill(const Step& step);

  // Makes input `i` read from elsewhere (a cache in place) until further notice.
  void BindInput(size_t i, std::span<const std::byte> bytes) { in_spans_[i] = bytes; }
  std::span<std::byte> input(size_t i) { return inputs_[i]; }
  std::span<const std::byte> output(size_t i) const { return outputs_[i]; }
  // Output `i` as floats: its first `rows` rows.
  void Read(size_t i, int rows, std::span<float> values) const;
  // Index among the outputs of the hidden state or the logits; none for a part without.
  std::optional<size_t> main_output() const;

  const GraphContract& graph() const { return graph_; }
  Result<void> Execute(CompiledGraph& compiled) { return compiled.Execute(in_spans_, out_spans_); }

 private:
  Result<void> FillIds(size_t i, const Step& step);
  void FillRope(size_t i, bool cosine, int64_t past_len);
  void FillMask(size_t i, const Step& step);

  const Contract& contract_;
  const GraphContract& graph_;
  std::vector<std::vector<std::byte>> inputs_, outputs_;
  std::vector<std::span<const std::byte>> in_spans_;
  std::vector<std::span<std::byte>> out_spans_;
  std::vector<float> scratch_;
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_IO_STAGE_IO_H_
