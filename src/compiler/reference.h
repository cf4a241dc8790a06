// What a model is compared with over a text: the next-token distribution of another stage at every
// scored position, computed beside it or read from a file that an earlier evaluation wrote.
#ifndef HEXLANE_COMPILER_REFERENCE_H_
#define HEXLANE_COMPILER_REFERENCE_H_

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "base/json.h"
#include "compiler/logits.h"

namespace hexlane {

// At one scored position. Valid until the next one is asked for.
struct ReferenceRow {
  std::span<const float> logits;  // [vocab]; a constant may be added to all of them
  double log_likelihood = 0;      // of the token that follows, nats
  int64_t best = 0;               // the likeliest token
};

class Reference {
 public:
  virtual ~Reference() = default;
  // Fast in the order of the sequences and of the positions within them.
  virtual Result<ReferenceRow> Row(size_t sequence, size_t position) = 0;
};

// Computed when asked for; exact.
class ComputedReference : public Reference {
 public:
  ComputedReference(InterpretedLogits logits, const ScoredSequences& sequences)
      : logits_(std::move(logits)), sequences_(sequences) {}
  Result<ReferenceRow> Row(size_t sequence, size_t position) override;

 private:
  InterpretedLogits logits_;
  const ScoredSequences& sequences_;
};

// A file of log-probabilities in float16: 2 bytes × vocabulary a position. They are normalised
// again where they are used, so that rounding (relative 2^-11) enters a Kullback-Leibler divergence
// only times the difference of the two distributions, or squared.
//
//   "HXLREF\0\1", u32 bytes of the header, header (JSON: identity), zeros up to a multiple of 64;
//   then for each scored position, in order: f64 log-likelihood of the next token, i32 likeliest
//   token, u32 0, f16[vocab] log-probabilities, zeros up to a multiple of 8. Little-endian.
class ReferenceFile : public Reference {
 public:
  // `identity`: what the rows depend on; an object. kCorrupt where the file is damaged,
  // kInvalidInput where it is of something else (names the field).
  static Result<std::unique_ptr<ReferenceFile>> Open(const std::filesystem::path& path,
                                                     const Json& identity,
                                                     const ScoredSequences& sequences);
  // Takes every row of `source`; the file appears whole or not at all.
  static Result<void> Write(const std::filesystem::path& path, const Json& identity,
                            const ScoredSequences& sequences, Reference& source);

  Result<ReferenceRow> Row(size_t sequence, size_t position) override;

 private:
  ReferenceFile(std::filesystem::path path, std::shared_ptr<const MappedFile> file,
                const ScoredSequences& sequences)
      : path_(std::move(path)), file_(std::move(file)), sequences_(sequences) {}

  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> file_;
  const ScoredSequences& sequences_;
  std::vector<size_t> first_record_;  // of each sequence
  size_t records_begin_ = 0;          // byte
  std::vector<float> log_probs_;      // [vocab], of the last row asked for
};

// What a reference file's rows depend on. `checkpoint`: the float model's input files.
Json ReferenceIdentity(const Json& checkpoint, int vocab, const ScoredSequences& sequences);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_REFERENCE_H_
