// The graphs that architectures build, in text form, against those kept in tests/data/replay: a
// refactor must not change them. When a change is meant, run with HEXLANE_UPDATE_REPLAY=1 and
// review the difference.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "ir/text.h"
#include "models/decoder.h"

namespace hexlane {
namespace {

const std::string kData = HEXLANE_TEST_DATA;

Result<std::string> PrintedUnits(const std::string& checkpoint_path) {
  const auto checkpoint = std::shared_ptr<const Checkpoint>(TRY(Checkpoint::Open(checkpoint_path)));
  const auto decoder = TRY(Decoder::Open(checkpoint));
  std::string text;
  for (int unit = 0; unit < decoder->unit_count(); ++unit) text += Print(TRY(decoder->Build(unit)));
  return text;
}

class Replay : public testing::TestWithParam<std::string> {};

TEST_P(Replay, GraphsAreTheOnesKept) {
  const Result<std::string> printed = PrintedUnits(kData + "/checkpoints/" + GetParam());
  ASSERT_TRUE(printed) << printed.error().ToString();
  const std::string path = kData + "/replay/" + GetParam() + ".hxir";
  if (std::getenv("HEXLANE_UPDATE_REPLAY") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, *printed));
  }
  const Result<std::string> kept = ReadTextFile(path);
  ASSERT_TRUE(kept) << kept.error().ToString();
  EXPECT_EQ(*printed, *kept);
}

INSTANTIATE_TEST_SUITE_P(Llama, Replay, testing::Values("llama-gqa", "llama-tied-f32"));

}  // namespace
}  // namespace hexlane
