#include "runtime/power/governor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hexlane {
namespace {

constexpr HeatState kNormal = HeatState::kNormal;
constexpr HeatState kSaver = HeatState::kSaver;
constexpr HeatState kCritical = HeatState::kCritical;

HeatState After(HeatGovernor& governor, double celsius) {
  EXPECT_TRUE(governor.AddTemperature(celsius, 0));
  return governor.Update(0);
}

TEST(HeatGovernor, HasHysteresisAtBothLimits) {
  HeatGovernor governor{HeatLimits()};
  EXPECT_EQ(After(governor, 39.9), kNormal);
  EXPECT_EQ(After(governor, 40), kSaver);
  EXPECT_EQ(After(governor, 37), kSaver);
  EXPECT_EQ(After(governor, 36.9), kNormal);
  EXPECT_EQ(After(governor, 39.9), kNormal);
  EXPECT_EQ(After(governor, 50), kCritical);
  EXPECT_EQ(After(governor, 48), kCritical);
  EXPECT_EQ(After(governor, 47.9), kSaver);
  EXPECT_EQ(After(governor, 49.9), kSaver);
  EXPECT_EQ(After(governor, 60), kCritical);
  EXPECT_EQ(After(governor, 20), kNormal);
}

TEST(HeatGovernor, IsNormalWhereNothingIsKnown) {
  HeatGovernor governor{HeatLimits()};
  EXPECT_EQ(governor.Update(1e9), kNormal);
  EXPECT_FALSE(governor.Celsius(0));
}

TEST(HeatGovernor, IgnoresAbsurdReadings) {
  HeatGovernor governor{HeatLimits()};
  for (double absurd : {std::nan(""), std::numeric_limits<double>::infinity(), -273.0, 121.0, 1e9})
    EXPECT_FALSE(governor.AddTemperature(absurd, 0));
  for (int absurd : {-1, 7, 1000}) EXPECT_FALSE(governor.AddStatus(absurd));
  EXPECT_EQ(governor.Update(0), kNormal);
  EXPECT_EQ(After(governor, 45), kSaver);
  EXPECT_FALSE(governor.AddTemperature(std::nan(""), 0));
  EXPECT_EQ(governor.Update(0), kSaver);
}

TEST(HeatGovernor, SavesPowerWhenASensorFallsSilent) {
  HeatGovernor governor{HeatLimits{.stale_seconds = 10}};
  governor.AddTemperature(30, 0);
  EXPECT_EQ(governor.Update(10), kNormal);
  EXPECT_EQ(governor.Update(10.1), kSaver);
  EXPECT_FALSE(governor.Celsius(10.1));
  governor.AddTemperature(30, 11);
  EXPECT_EQ(governor.Update(11), kNormal);
}

TEST(HeatGovernor, StaysCriticalUntilAReadingSaysOtherwise) {
  HeatGovernor governor{HeatLimits{.stale_seconds = 10}};
  EXPECT_EQ(After(governor, 55), kCritical);
  EXPECT_EQ(governor.Update(1000), kCritical);
  governor.Forget();
  EXPECT_EQ(governor.Update(1000), kNormal);
}

TEST(HeatGovernor, TakesTheWorseOfTemperatureAndStatus) {
  HeatGovernor governor{HeatLimits()};
  constexpr HeatState kWant[] = {kNormal, kNormal, kSaver, kSaver, kCritical, kCritical, kCritical};
  for (int status = 0; status <= 6; ++status) {
    EXPECT_TRUE(governor.AddStatus(status));
    EXPECT_EQ(governor.Update(0), kWant[status]) << status;
  }
  governor.AddStatus(0);
  EXPECT_EQ(After(governor, 45), kSaver);
  governor.AddStatus(5);
  EXPECT_EQ(governor.Update(0), kCritical);
}

TEST(HeatLimits, ContradictionsAreNamed) {
  EXPECT_TRUE(CheckHeatLimits({}));
  for (const HeatLimits& bad :
       {HeatLimits{.recover = 40}, HeatLimits{.saver = 51}, HeatLimits{.restart = 50},
        HeatLimits{.critical = 200}, HeatLimits{.saver = std::nan("")},
        HeatLimits{.saver_tokens_per_second = 0}, HeatLimits{.stale_seconds = -1}}) {
    const auto refused = CheckHeatLimits(bad);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUsage);
    EXPECT_FALSE(refused.error().got.empty());
  }
}

}  // namespace
}  // namespace hexlane
