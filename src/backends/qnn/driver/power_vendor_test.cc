#include "backends/qnn/driver/power.h"

#include "backends/qnn/driver/testing.h"

namespace hexlane::qnn {
namespace {

TEST(HtpPower, TheEmulatorSaysThatItTakesNoVotes) {
  const auto power = HtpPower::Create(TestDevice());
  if (power) {
    for (int mode = 0; mode < kPowerModes; ++mode) {
      const auto set = (*power)->Set(static_cast<PowerMode>(mode));
      ADD_FAILURE() << (set ? "ok" : set.error().ToString());
    }
  }
  ASSERT_FALSE(power);
  EXPECT_EQ(power.error().code, Code::kUnsupported);
  fprintf(stderr, "%s\n", power.error().ToString().c_str());
}

}  // namespace
}  // namespace hexlane::qnn
