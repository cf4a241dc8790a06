// The logits of token sequences on any stage, where they are wanted and a few rows at a time: all
// logits of a text would not fit into memory.
#ifndef HEXLANE_COMPILER_LOGITS_H_
#define HEXLANE_COMPILER_LOGITS_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/stage_run.h"
#include "interp/decoder_run.h"

namespace hexlane {

// Tokens that are run from an empty cache; those after position `first` are scored: the logits at
// position p say how likely ids[p + 1] is, for first ≤ p < end().
struct ScoredSequence {
  std::vector<int32_t> ids;
  size_t first = 0;

  size_t end() const { return ids.size() - 1; }
  size_t count() const { return end() - first; }
  int32_t target(size_t position) const { return ids[position + 1]; }
};
using ScoredSequences = std::vector<ScoredSequence>;

// Of the interpreted stages (float, quant), computed when asked for. Memory: the hidden states of a
// group of sequences (64 MiB, or one sequence), one unit, the head's weights and 128 rows of
// logits.
class InterpretedLogits {
 public:
  struct Options {
    Stage stage = Stage::kFloat;
    ProgressCallback progress;
    Observer observer;  // sees every value that is computed; may be empty
  };
  // `runner` and `sequences` must outlive it. Errors as StageRunner::Units.
  static Result<InterpretedLogits> Create(StageRunner& runner, const ScoredSequences& sequences,
                                          const Options& options);

  // [vocab], valid until the next call. Fast in order: sequences ascending, positions within them.
  Result<std::span<const float>> Row(size_t sequence, size_t position);

 private:
  // A run of sequences whose hidden states wait at the head, which is loaded.
  struct Group {
    size_t begin, end;
    DecoderRun run;
    Graph head;
    std::optional<Interpreter> interpreter;  // of `head`
  };
  InterpretedLogits(StageRunner& runner, const ScoredSequences& sequences, UnitSource units,
                    const Options& options)
      : runner_(runner), sequences_(sequences), units_(std::move(units)), options_(options) {}
  InterpreterOptions interpreter_options() const;
  Result<void> LoadGroup(size_t begin);
  Result<void> LoadRows(size_t sequence, size_t position);
  size_t GroupEnd(size_t begin) const;

  StageRunner& runner_;
  const ScoredSequences& sequences_;
  UnitSource units_;
  Options options_;
  std::unique_ptr<Group> group_;  // null before the first Row
  DecoderRun::Rows rows_;         // of sequence rows_.index (of all) …
  std::vector<float> logits_;     // … these: [rows_.count, vocab]
};

// Takes the logits [vocab] at a scored position.
using LogitsSink =
    std::function<Result<void>(size_t sequence, size_t position, std::span<const float> logits)>;

// Every scored position of every sequence, in order. A session of the engine (cpu, htp) keeps the
// tokens before the first scored one where the next sequence begins with them too. kUsage where the
// stage needs a package; kInvalidInput where a sequence does not fit its context.
Result<void> ForEachScored(StageRunner& runner, const ModelSource& source,
                           const InterpretedLogits::Options& options,
                           const ScoredSequences& sequences, const LogitsSink& sink);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_LOGITS_H_
