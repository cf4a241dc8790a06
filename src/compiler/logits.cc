#include "compiler/logits.h"

#include <algorithm>

#include "hexlane/engine.h"
#include "hexlane/interrupt.h"

namespace hexlane {
namespace {

constexpr size_t kGroupBytes = 64u << 20;  // of hidden states
constexpr size_t kHeadRows = 128;          // enough that reading the head's weights does not count

}  // namespace

Result<InterpretedLogits> InterpretedLogits::Create(StageRunner& runner,
                                                    const ScoredSequences& sequences,
                                                    const Options& options) {
  return InterpretedLogits(runner, sequences, TRY(runner.Units(options.stage)), options);
}

InterpreterOptions InterpretedLogits::interpreter_options() const {
  return {.fake_quantise = options_.stage == Stage::kQuant, .pool = &runner_.pool()};
}

size_t InterpretedLogits::GroupEnd(size_t begin) const {
  const size_t token_bytes = static_cast<size_t>(runner_.hidden()) * sizeof(float);
  size_t end = begin, bytes = 0;
  while (end < sequences_.size()) {
    bytes += sequences_[end].ids.size() * token_bytes;
    if (end > begin && bytes > kGroupBytes) break;
    ++end;
  }
  return end;
}

Result<void> InterpretedLogits::LoadGroup(size_t begin) {
  group_.reset();  // first, for its memory
  const size_t end = GroupEnd(begin);
  std::vector<std::vector<int32_t>> ids;
  for (size_t i = begin; i < end; ++i) ids.push_back(sequences_[i].ids);
  DecoderRun run(std::move(ids));
  const int head = units_.count - 1;
  for (int unit = 0; unit < head; ++unit) {
    if (options_.progress) {
      const double done = static_cast<double>(unit) / units_.count;
      const auto total = static_cast<double>(sequences_.size());
      options_.progress(
          (static_cast<double>(begin) + done * static_cast<double>(end - begin)) / total,
          fmt::format("{}: unit {}/{}", StageName(options_.stage), unit + 1, units_.count));
    }
    TRY(run.Advance(TRY(units_.load(unit)), interpreter_options(), options_.observer));
  }
  group_.reset(new Group{begin, end, std::move(run), TRY(units_.load(head)), std::nullopt});
  group_->interpreter.emplace(group_->head, interpreter_options());
  return {};
}

Result<void> InterpretedLogits::LoadRows(size_t sequence, size_t position) {
  TRY(CheckInterrupt());
  if (!group_ || sequence < group_->begin || sequence >= group_->end) TRY(LoadGroup(sequence));
  rows_ = {sequence, position, std::min(kHeadRows, sequences_[sequence].end() - position)};
  DecoderRun::Rows rows = rows_;
  rows.index -= group_->begin;
  logits_ = TRY(group_->run.RunRows(group_->head, *group_->interpreter, rows, options_.observer));
  return {};
}

Result<std::span<const float>> InterpretedLogits::Row(size_t sequence, size_t position) {
  CHECK(sequence < sequences_.size() && position < sequences_[sequence].end());
  const bool there =
      sequence == rows_.index && position >= rows_.first && position < rows_.first + rows_.count;
  if (!there) TRY(LoadRows(sequence, position));
  const auto vocab = static_cast<size_t>(runner_.vocab());
  return std::span<const float>(logits_).subspan((position - rows_.first) * vocab, vocab);
}

namespace {

// The sequences through a session of the engine.
class SessionScorer {
 public:
  SessionScorer(Session& session, const LogitsSink& sink) : session_(session), sink_(sink) {}

  Result<void> Run(size_t index, const ScoredSequence& sequence) {
    const std::span<const int32_t> ids(sequence.ids);
    TRY(Feed(ids.first(sequence.first)));
    Result<void> done;
    const auto take = [&](int64_t position, std::span<const float> logits) {
      if (done) done = sink_(index, static_cast<size_t>(position), logits);
    };
    TRY(session_.Evaluate(ids.subspan(sequence.first, sequence.count()), take));
    return done;
  }

 private:
  // Leaves exactly `ids` in the cache.
  Result<void> Feed(std::span<const int32_t> ids) {
    const bool kept = session_.position() >= static_cast<int64_t>(ids.size()) &&
                      std::ranges::equal(session_.tokens().first(ids.size()), ids);
    if (kept) return session_.Rewind(static_cast<int64_t>(ids.size()));
    session_.Reset();
    return session_.Feed(ids).map([](std::span<const float>) {});
  }

  Session& session_;
  const LogitsSink& sink_;
};

size_t LongestOf(const ScoredSequences& sequences) {
  size_t longest = 0;
  for (const ScoredSequence& sequence : sequences) longest = std::max(longest, sequence.ids.size());
  return longest;
}

Result<void> RunEngine(StageRunner& runner, const ModelSource& source,
                       const InterpretedLogits::Options& options, const ScoredSequences& sequences,
                       const LogitsSink& sink) {
  const bool htp = options.stage == Stage::kHtp;
  const auto path =
      htp ? TRY(runner.VerificationPackage(nullptr, static_cast<int>(LongestOf(sequences))))
          : source.path;
  const auto engine = TRY(Engine::Open(path, {.backend = htp ? "htp" : "cpu",
                                              .threads = source.threads,
                                              .vendor_library = source.vendor_library}));
  const auto session = TRY(engine->NewSession());
  SessionScorer scorer(*session, sink);
  for (size_t i = 0; i < sequences.size(); ++i) {
    TRY(CheckInterrupt());
    if (options.progress) {
      options.progress(static_cast<double>(i) / static_cast<double>(sequences.size()),
                       fmt::format("sequence {}/{}", i + 1, sequences.size()));
    }
    TRY(scorer.Run(i, sequences[i]));
  }
  return {};
}

Result<void> RunInterpreter(StageRunner& runner, const InterpretedLogits::Options& options,
                            const ScoredSequences& sequences, const LogitsSink& sink) {
  InterpretedLogits logits = TRY(InterpretedLogits::Create(runner, sequences, options));
  for (size_t i = 0; i < sequences.size(); ++i)
    for (size_t p = sequences[i].first; p < sequences[i].end(); ++p)
      TRY(sink(i, p, TRY(logits.Row(i, p))));
  return {};
}

}  // namespace

Result<void> ForEachScored(StageRunner& runner, const ModelSource& source,
                           const InterpretedLogits::Options& options,
                           const ScoredSequences& sequences, const LogitsSink& sink) {
  TRY(runner.CheckHasPackage(options.stage));
  if (options.stage == Stage::kFloat || options.stage == Stage::kQuant)
    return RunInterpreter(runner, options, sequences, sink);
  return RunEngine(runner, source, options, sequences, sink);
}

}  // namespace hexlane
