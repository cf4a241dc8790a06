// Feeds token sequences through a decoder unit by unit: memory is one unit plus the hidden states
// between units, whatever the depth. Calibration, verification and perplexity all run this way.
#ifndef HEXLANE_INTERP_DECODER_RUN_H_
#define HEXLANE_INTERP_DECODER_RUN_H_

#include <functional>
#include <vector>

#include "interp/interpreter.h"

namespace hexlane {

class DecoderRun {
 public:
  // Each sequence starts at position 0 with an empty cache.
  explicit DecoderRun(std::vector<std::vector<int32_t>> sequences)
      : sequences_(std::move(sequences)), hidden_(sequences_.size()) {}

  // Takes the unit's first output of sequence `index`, [rows, dim].
  using Sink = std::function<Result<void>(size_t index, std::vector<float> output)>;

  // Runs every sequence through the next unit. Its first output becomes the next unit's input, or
  // goes to `sink` where one is given (the head, whose logits would be too large to keep).
  Result<void> Advance(const Graph& unit, const InterpreterOptions& options,
                       const Observer& observer = {}, const Sink& sink = {});

  // The output that `head`, whose rows do not depend on each other, gives for some rows of sequence
  // `index`: [count, dim]. The hidden states stay. kInvalidInput where it takes more than them.
  struct Rows {
    size_t index = 0;
    size_t first = 0;
    size_t count = 0;
  };
  Result<std::vector<float>> RunRows(const Graph& head, Interpreter& interpreter, const Rows& rows,
                                     const Observer& observer = {}) const;

  // Goes on as if the hidden states had just left the last unit: one per sequence, [rows, hidden].
  void Restore(std::vector<std::vector<float>> hidden) { hidden_ = std::move(hidden); }

  // What `unit`, the next one, takes for sequence `index`.
  Bindings InputsFor(const Graph& unit, size_t index) const;

  size_t size() const { return sequences_.size(); }
  std::span<const int32_t> ids(size_t index) const { return sequences_[index]; }
  // What left the last unit for sequence `index`: [rows, hidden].
  std::span<const float> hidden(size_t index) const { return hidden_[index]; }

 private:
  std::vector<std::vector<int32_t>> sequences_;
  std::vector<std::vector<float>> hidden_;
};

}  // namespace hexlane

#endif  // HEXLANE_INTERP_DECODER_RUN_H_
