#include "backends/qnn/driver/power.h"

#include "backends/qnn/driver/testing.h"

namespace hexlane::qnn {
namespace {

// QAIRT 2.51 for x86 has the calls and says yes to every vote; nothing gets faster. So the layout
// of the calls is tested here, what the votes do is not.
TEST(HtpPower, TheEmulatorAcceptsEveryMode) {
  const auto power = HtpPower::Create(TestDevice());
  if (!power) {
    EXPECT_EQ(power.error().code, Code::kUnsupported) << power.error().ToString();
    return;
  }
  for (int mode = 0; mode < kPowerModes; ++mode) MUST((*power)->Set(static_cast<PowerMode>(mode)));
}

}  // namespace
}  // namespace hexlane::qnn
