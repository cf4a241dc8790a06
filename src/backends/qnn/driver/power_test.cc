#include "backends/qnn/driver/power.h"

#include <gmock/gmock.h>

#include "backends/qnn/driver/must.h"

namespace hexlane::qnn {
namespace {
using ::testing::ElementsAre;

// What a library was asked, in order, in words.
std::vector<std::string> calls;
abi::Status create_status = 0;
abi::Status dcvs_status = 0;
abi::Status rpc_status = 0;

uint64_t FakeCreate(uint32_t device, uint32_t core, uint32_t* id) {
  calls.push_back(fmt::format("create {} {}", device, core));
  *id = 7;
  return create_status;
}

uint64_t FakeDestroy(uint32_t id) {
  calls.push_back(fmt::format("destroy {}", id));
  return 0;
}

std::string Words(const abi::PowerConfig& config) {
  if (config.option == abi::PowerOption::kRpcLatency)
    return fmt::format(" latency {}", config.microseconds);
  if (config.option == abi::PowerOption::kRpcPolling)
    return fmt::format(" polling {}", config.microseconds);
  const abi::DcvsV3& vote = config.dcvs;
  EXPECT_EQ(vote.id, 7u);
  EXPECT_TRUE(vote.set_enable && vote.bus.set && vote.core.set && vote.set_sleep_latency);
  EXPECT_TRUE(vote.bus.min == vote.bus.max && vote.bus.target == vote.core.target);
  return fmt::format(" corner {:#x} scale {} sleep {}", static_cast<uint32_t>(vote.core.target),
                     vote.enable, vote.sleep_latency);
}

uint64_t FakeSet(uint32_t id, const abi::PowerConfig** configs) {
  std::string words = fmt::format("set {}", id);
  const bool dcvs = configs[0]->option == abi::PowerOption::kDcvsV3;
  for (; *configs; ++configs) words += Words(**configs);
  calls.push_back(words);
  return dcvs ? dcvs_status : rpc_status;
}

class HtpPowerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    calls.clear();
    create_status = dcvs_status = rpc_status = 0;
  }
  abi::PowerInfrastructure fake_{0, FakeCreate, FakeDestroy, FakeSet, nullptr};
};

TEST_F(HtpPowerTest, VotesInOrderAndReleasesAtTheEnd) {
  {
    const auto power = MUST(HtpPower::Create(fake_));
    MUST(power->Set(PowerMode::kBurst));
    MUST(power->Set(PowerMode::kPowerSaver));
  }
  EXPECT_THAT(calls,
              ElementsAre("create 0 0", "set 7 corner 0xa0 scale 0 sleep 40",
                          "set 7 latency 100 polling 9999", "set 7 corner 0x40 scale 1 sleep 1000",
                          "set 7 latency 100 polling 0", "set 7 corner 0x10 scale 1 sleep 2000",
                          "set 7 latency 0 polling 0", "destroy 7"));
}

TEST_F(HtpPowerTest, TheSameModeAgainMakesNoCall) {
  const auto power = MUST(HtpPower::Create(fake_));
  MUST(power->Set(PowerMode::kSustainedHigh));
  const size_t before = calls.size();
  for (int i = 0; i < 100; ++i) MUST(power->Set(PowerMode::kSustainedHigh));
  EXPECT_EQ(calls.size(), before);
}

TEST_F(HtpPowerTest, AReleasedOneIsNotReleasedAgain) {
  {
    const auto power = MUST(HtpPower::Create(fake_));
    MUST(power->Set(PowerMode::kReleased));
    calls.clear();
  }
  EXPECT_THAT(calls, ElementsAre("destroy 7"));
}

TEST_F(HtpPowerTest, ARefusedVoteIsAnErrorAndIsTriedAgain) {
  const auto power = MUST(HtpPower::Create(fake_));
  dcvs_status = 0x3e8;
  const auto refused = power->Set(PowerMode::kBurst);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kVendor);
  dcvs_status = 0;
  EXPECT_TRUE(power->Set(PowerMode::kBurst));
}

TEST_F(HtpPowerTest, RefusedPollingIsNoError) {
  rpc_status = 0x3e8;
  EXPECT_TRUE(MUST(HtpPower::Create(fake_))->Set(PowerMode::kBurst));
}

TEST_F(HtpPowerTest, SaysWhenThereIsNothingToVoteAt) {
  EXPECT_EQ(HtpPower::Create(abi::PowerInfrastructure()).error().code, Code::kUnsupported);
  create_status = 0x3e8;
  EXPECT_EQ(HtpPower::Create(fake_).error().code, Code::kUnsupported);
  fake_.type = 1;
  EXPECT_EQ(HtpPower::Create(fake_).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace hexlane::qnn
