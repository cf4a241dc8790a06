#include "compiler/reference.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/testing/scratch_folder.h"
#include "compiler/text_comparison.h"
#include "kernels/sample/softmax.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr size_t kVocab = 37;

// Rows that follow from sequence and position; fails at the position `broken`.
class MadeReference : public Reference {
 public:
  explicit MadeReference(int broken = -1) : broken_(broken) {}
  Result<ReferenceRow> Row(size_t sequence, size_t position) override {
    if (static_cast<int>(position) == broken_) return Cancelled("stopped");
    logits_.resize(kVocab);
    for (size_t i = 0; i < kVocab; ++i)
      logits_[i] = 20 + 6 * std::sin(static_cast<float>(i * (3 * sequence + position + 1)));
    logits_[1] = -1e6f;  // more than float16 holds
    return ReferenceRow{logits_, -NegativeLogLikelihood(logits_, 2), ArgMax(logits_)};
  }

 private:
  int broken_;
  std::vector<float> logits_;
};

class ReferenceFiles : public testing::Test {
 protected:
  fs::path file() const { return folder_ / "reference"; }
  Json identity() const { return ReferenceIdentity("model.gguf", kVocab, sequences_); }
  void Write() {
    MadeReference source;
    const auto done = ReferenceFile::Write(file(), identity(), sequences_, source);
    ASSERT_TRUE(done) << done.error().ToString();
  }
  void ExpectRefused(const Json& identity, Code code, const std::string& part) const {
    const auto opened = ReferenceFile::Open(file(), identity, sequences_);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, code);
    EXPECT_THAT(opened.error().ToString(), HasSubstr(part));
    EXPECT_THAT(opened.error().ToString(), HasSubstr(file().string()));
  }

  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
  const ScoredSequences sequences_ = {{{1, 2, 3, 4, 5, 6}, 2}, {{3, 4, 5}, 0}};
};

TEST_F(ReferenceFiles, GiveWhatWasWritten) {
  Write();
  const auto opened = ReferenceFile::Open(file(), identity(), sequences_);
  ASSERT_TRUE(opened) << opened.error().ToString();
  MadeReference source;
  for (size_t i = 0; i < sequences_.size(); ++i) {
    for (size_t p = sequences_[i].first; p < sequences_[i].end(); ++p) {
      const ReferenceRow want = *source.Row(i, p), got = *(*opened)->Row(i, p);
      EXPECT_EQ(got.best, want.best);
      EXPECT_EQ(got.log_likelihood, want.log_likelihood);
      // Log-probabilities down to -16 are off by at most 2^-8 (half a float16's spacing): p by that
      // share, of which the divergence is half the variance.
      EXPECT_LT(KlDivergence(got.logits, want.logits), 0.5 * 0x1p-16);
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing else is left";
}

TEST_F(ReferenceFiles, OfSomethingElseAreRefused) {
  Write();
  ExpectRefused(ReferenceIdentity("other.gguf", kVocab, sequences_), Code::kInvalidInput,
                "checkpoint");
  ExpectRefused(ReferenceIdentity("model.gguf", 38, sequences_), Code::kInvalidInput, "vocab");
  ScoredSequences others = sequences_;
  others[0].ids[0] = 7;
  ExpectRefused(ReferenceIdentity("model.gguf", kVocab, others), Code::kInvalidInput,
                "tokens_sha256");
}

TEST_F(ReferenceFiles, DamagedOnesAreRefused) {
  Write();
  const auto size = fs::file_size(file());
  fs::resize_file(file(), size - 1);
  ExpectRefused(identity(), Code::kCorrupt, "damaged");
  fs::resize_file(file(), 40);
  ExpectRefused(identity(), Code::kCorrupt, "cut off");
  fs::resize_file(file(), 7);
  ExpectRefused(identity(), Code::kCorrupt, "not a reference");
}

TEST_F(ReferenceFiles, NothingIsLeftOfOneThatWasNotFinished) {
  MadeReference source(4);
  const auto done = ReferenceFile::Write(file(), identity(), sequences_, source);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kCancelled);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace hexlane
