#include "runtime/power/control.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "runtime/power/testing.h"
#include "runtime/power/votes.h"

namespace hexlane {
namespace {

using testing::SimulatedPhone;

const auto kNever = [] { return false; };

std::shared_ptr<PowerControl> ControlOf(std::shared_ptr<SimulatedPhone> phone) {
  return *PowerControl::Create({.clock = std::move(phone)});
}

TEST(PowerControl, SpacesTokensOfAWarmPhone) {
  const auto phone = std::make_shared<SimulatedPhone>(25, 25);
  const auto power = ControlOf(phone);
  for (int i = 0; i < 10; ++i) power->impl().WaitForTurn(kNever);
  EXPECT_EQ(phone->Now(), 0);
  power->PushTemperature(45);
  for (int i = 0; i < 9; ++i) power->impl().WaitForTurn(kNever);
  EXPECT_NEAR(phone->Now(), 3, 1e-9);
}

TEST(PowerControl, AWaitEndsWithinASliceOfACancellation) {
  const auto phone = std::make_shared<SimulatedPhone>(25, 25);
  const auto power =
      *PowerControl::Create({.limits = {.saver_tokens_per_second = 0.01}, .clock = phone});
  power->PushTemperature(45);
  power->impl().WaitForTurn(kNever);
  power->impl().WaitForTurn([&] { return phone->Now() > 1; });
  EXPECT_LT(phone->Now(), 1.1);
}

TEST(PowerControl, AWaitEndsWhenThePhoneHasCooled) {
  const auto phone = std::make_shared<SimulatedPhone>(25, 25);
  const auto power =
      *PowerControl::Create({.limits = {.saver_tokens_per_second = 0.01}, .clock = phone});
  power->PushThermalStatus(3);
  power->impl().WaitForTurn(kNever);
  power->impl().WaitForTurn([&] {
    if (phone->Now() > 1) power->PushThermalStatus(0);
    return false;
  });
  EXPECT_LT(phone->Now(), 1.2);
}

TEST(PowerControl, ShowsWhatItKnows) {
  const auto power = ControlOf(std::make_shared<SimulatedPhone>(25, 25));
  EXPECT_FALSE(power->status().celsius);
  power->PushTemperature(41.5);
  power->PushTemperature(std::nan(""));
  power->PushThermalStatus(9);
  const PowerStatus status = power->status();
  EXPECT_EQ(status.celsius, 41.5);
  EXPECT_EQ(status.thermal_status, -1);
  EXPECT_EQ(status.heat, HeatState::kSaver);
  EXPECT_EQ(status.ignored_readings, 2);
  power->ForgetReadings();
  EXPECT_EQ(power->status().heat, HeatState::kNormal);
}

TEST(PowerControl, RefusesLimitsAndKeepsTheOldOnes) {
  const auto power = ControlOf(std::make_shared<SimulatedPhone>(25, 25));
  EXPECT_FALSE(power->SetLimits({.saver = 10}));
  EXPECT_EQ(power->limits().saver, 40);
  EXPECT_TRUE(power->SetLimits({.saver = 42}));
  EXPECT_EQ(power->limits().saver, 42);
  EXPECT_FALSE(PowerControl::Create({.limits = {.saver = 10}}));
}

TEST(PowerControl, TakesReadingsFromOtherThreads) {
  const auto power = *PowerControl::Create();
  std::thread pusher([&] {
    for (int i = 0; i < 1000; ++i) power->PushTemperature(30 + i % 5);
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(power->impl().Look(), HeatState::kNormal);
  pusher.join();
}

// Writes down what it is asked.
class VotingExecutor : public Executor {
 public:
  Result<std::unique_ptr<ExecutorState>> NewState() const override { return nullptr; }
  Result<void> Run(ExecutorState&, const RunArgs&) const override { return {}; }
  Result<void> SetPowerMode(PowerMode mode) const override {
    asked.push_back(mode);
    return {};
  }
  mutable std::vector<PowerMode> asked;
};

class DeafExecutor : public VotingExecutor {
 public:
  Result<void> SetPowerMode(PowerMode mode) const override {
    asked.push_back(mode);
    return Executor::SetPowerMode(mode);
  }
};

using Modes = std::vector<PowerMode>;

TEST(PowerVotes, ALeaseAsksOncePerModeAndReleases) {
  VotingExecutor executor;
  PowerVotes votes({&executor}, nullptr);
  {
    PowerVotes::Lease lease(votes);
    lease.Set(PowerMode::kBurst);
    for (int i = 0; i < 10; ++i) lease.Set(PowerMode::kSustainedHigh);
  }
  EXPECT_EQ(executor.asked,
            (Modes{PowerMode::kBurst, PowerMode::kSustainedHigh, PowerMode::kReleased}));
}

TEST(PowerVotes, TheFastestWishOfSeveralCounts) {
  VotingExecutor executor;
  PowerVotes votes({&executor}, nullptr);
  PowerVotes::Lease one(votes), other(votes);
  one.Set(PowerMode::kSustainedHigh);
  other.Set(PowerMode::kBurst);
  one.Set(PowerMode::kReleased);
  other.Set(PowerMode::kReleased);
  EXPECT_EQ(executor.asked,
            (Modes{PowerMode::kSustainedHigh, PowerMode::kBurst, PowerMode::kReleased}));
}

TEST(PowerVotes, AnExecutorWithoutModesIsAskedOnceAndReported) {
  DeafExecutor executor;
  const auto power = *PowerControl::Create();
  PowerVotes votes({&executor}, power);
  PowerVotes::Lease lease(votes);
  lease.Set(PowerMode::kBurst);
  lease.Set(PowerMode::kSustainedHigh);
  EXPECT_EQ(executor.asked.size(), 1u);
  const PowerStatus status = power->status();
  EXPECT_EQ(status.mode, PowerMode::kSustainedHigh);
  EXPECT_FALSE(status.mode_available);
  EXPECT_NE(status.mode_note.find("no power modes"), std::string::npos);
}

}  // namespace
}  // namespace hexlane
