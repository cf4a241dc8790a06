// An hour of conversations on a phone that warms up: the real Generate loop, a simulated clock and
// case. With HEXLANE_HEAT_TRACE set to a folder, writes the hour there as a table (bench/heat.sh).
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "runtime/power/testing.h"
#include "runtime/testing.h"

namespace hexlane {
namespace {

using Ids = std::vector<int32_t>;

constexpr double kHour = 3600;
constexpr double kEvery = 10;  // seconds of a row of the trace

struct Row {
  double seconds = 0;
  double celsius = 0;
  PowerMode mode = PowerMode::kReleased;
  HeatState heat = HeatState::kNormal;
  int tokens = 0;  // in this row's time
};

class HeatTest : public ::testing::Test {
 protected:
  void Open(double ambient, double celsius) {
    phone_ = std::make_shared<testing::SimulatedPhone>(ambient, celsius);
    power_ = *PowerControl::Create({.thermometer = phone_, .clock = phone_});
    Manifest manifest = testing::TinyManifest();
    manifest.plan.variants[0].stages = {{1, 256}, {4, 256}};
    ASSERT_TRUE(testing::WriteTinyPackage(dir_.path() / "p", manifest));
    engine_ = *Engine::Open(dir_.path() / "p", {.backend = "null", .power = power_});
    session_ = *engine_->NewSession();
    options_ = {.max_tokens = 200, .ignore_eos = true};
    options_.on_token = [this](const TokenEvent& token) {
      if (token.id >= 0) OnToken();  // not for text that was held back until the end
      return true;
    };
    options_.on_prefill = [this](int, int) {
      Spend(power_->status().mode);
      return true;
    };
  }

  void OnToken() {
    const PowerStatus status = power_->status();
    token_times_.push_back(phone_->Now());
    if (status.heat != HeatState::kNormal) warm_tokens_.push_back(token_times_.size() - 1);
    hottest_token_ = std::max(hottest_token_, *phone_->Celsius());
    if (status.heat == HeatState::kCritical) ++critical_tokens_;
    Spend(status.mode);
  }

  void Spend(PowerMode mode) {
    phone_->Work(mode);
    Record(mode);
  }

  void Record(PowerMode mode) {
    while (phone_->Now() >= kEvery * static_cast<double>(trace_.size() + 1)) {
      const double until = kEvery * static_cast<double>(trace_.size() + 1);
      const auto begin = std::ranges::upper_bound(token_times_, until - kEvery);
      const auto end = std::ranges::upper_bound(token_times_, until);
      trace_.push_back(
          {until, *phone_->Celsius(), mode, power_->status().heat, static_cast<int>(end - begin)});
    }
  }

  // Asks again and again; after a refusal, ten seconds later.
  void Hour() {
    while (phone_->Now() < kHour) {
      session_->Reset();
      const auto result = session_->Generate(Ids{3, 4, 5, 6, 7, 8}, options_);
      ASSERT_TRUE(result) << result.error().ToString();
      ++ends_[result->finish_reason];
      EXPECT_EQ(power_->status().mode, PowerMode::kReleased);
      if (result->finish_reason != FinishReason::kTooHot) continue;
      phone_->Sleep(kEvery);
      Record(PowerMode::kReleased);
    }
  }

  // No token of a warm phone came sooner than 1/3 s after the one before.
  void ExpectSlowWhileWarm() const {
    for (size_t token : warm_tokens_) {
      if (token == 0) continue;
      ASSERT_GE(token_times_[token] - token_times_[token - 1], 1 / 3.0 - 1e-9)
          << token << " at " << token_times_[token] << " of " << token_times_.size();
    }
  }

  void WriteTrace(const std::string& name) const {
    const char* folder = std::getenv("HEXLANE_HEAT_TRACE");
    if (!folder) return;
    std::ofstream file(std::filesystem::path(folder) / name);
    file << "seconds\tcelsius\tmode\theat\ttokens_per_second\n";
    for (const Row& row : trace_)
      file << fmt::format("{}\t{:.2f}\t{}\t{}\t{:.2f}\n", row.seconds, row.celsius,
                          PowerModeName(row.mode), HeatStateName(row.heat), row.tokens / kEvery);
  }

  int Rows(HeatState heat) const {
    return static_cast<int>(std::ranges::count(trace_, heat, &Row::heat));
  }

  testing::TempDir dir_;
  std::shared_ptr<testing::SimulatedPhone> phone_;
  std::shared_ptr<PowerControl> power_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  GenerateOptions options_;
  std::vector<double> token_times_;
  std::vector<size_t> warm_tokens_;
  double hottest_token_ = 0;
  int critical_tokens_ = 0;
  std::map<FinishReason, int> ends_;
  std::vector<Row> trace_;
};

TEST_F(HeatTest, AnHourAt45DegreesKeepsThePromise) {
  Open(45, 25);  // from a cool room into the heat
  Hour();
  WriteTrace("45.tsv");
  ExpectSlowWhileWarm();
  EXPECT_LT(hottest_token_, HeatLimits().critical + 0.1);  // a second's warming between readings
  EXPECT_LE(critical_tokens_, 3);  // at most one each time it is reached, that was being computed
  EXPECT_GT(ends_[FinishReason::kTooHot], 0);
  EXPECT_GT(ends_[FinishReason::kLength], 0);
  EXPECT_GT(Rows(HeatState::kNormal), 0);
  EXPECT_GT(Rows(HeatState::kSaver), 0);
  EXPECT_GT(Rows(HeatState::kCritical), 0);
}

TEST_F(HeatTest, AnHourAt25DegreesAlternatesAndNeverStops) {
  Open(25, 25);
  Hour();
  WriteTrace("25.tsv");
  ExpectSlowWhileWarm();
  EXPECT_LT(hottest_token_, HeatLimits().saver + 0.1);
  EXPECT_EQ(ends_[FinishReason::kTooHot], 0);
  EXPECT_EQ(Rows(HeatState::kNormal) + Rows(HeatState::kSaver), static_cast<int>(trace_.size()));
  EXPECT_GT(Rows(HeatState::kNormal), 90);  // a quarter of the hour
  EXPECT_GT(Rows(HeatState::kSaver), 90);
  for (const Row& row : trace_)
    EXPECT_EQ(row.heat == HeatState::kSaver, row.mode == PowerMode::kPowerSaver) << row.seconds;
}

TEST_F(HeatTest, KeepsTheTokensSoFarWhenItStops) {
  Open(25, 25);
  options_.on_token = [&](const TokenEvent& token) {
    if (token.index == 4) power_->PushThermalStatus(4);
    return true;
  };
  const auto result = session_->Generate(Ids{3, 4}, options_);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->finish_reason, FinishReason::kTooHot);
  EXPECT_EQ(FinishReasonName(result->finish_reason), "too_hot");
  EXPECT_THAT(result->tokens, ::testing::ElementsAre(5, 6, 7, 8, 9));
  EXPECT_EQ(session_->position(), 6);  // the last token is not run, as always
}

TEST_F(HeatTest, DoesNotBeginOnACriticalPhone) {
  Open(25, 25);
  power_->PushThermalStatus(6);
  const auto result = session_->Generate(Ids{3, 4}, options_);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->finish_reason, FinishReason::kTooHot);
  EXPECT_TRUE(result->tokens.empty());
  EXPECT_EQ(session_->position(), 0);
}

TEST_F(HeatTest, ReleasesTheModeOnErrorsAndCancellation) {
  Open(25, 25);
  options_.on_prefill = [](int, int) { return false; };
  EXPECT_FALSE(session_->Generate(Ids{3, 4}, options_));
  EXPECT_EQ(power_->status().mode, PowerMode::kReleased);
  options_.on_prefill = nullptr;
  options_.cancelled = [] { return true; };
  EXPECT_EQ(session_->Generate(Ids{3}, options_)->finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(power_->status().mode, PowerMode::kReleased);
}

TEST_F(HeatTest, PhasesAskForTheirModes) {
  Open(25, 25);
  std::vector<PowerMode> modes;
  options_.max_tokens = 3;
  options_.on_prefill = [&](int, int) {
    modes.push_back(power_->status().mode);
    return true;
  };
  options_.on_token = [&](const TokenEvent&) {
    modes.push_back(power_->status().mode);
    return true;
  };
  ASSERT_TRUE(session_->Generate(Ids{3}, options_));
  EXPECT_THAT(modes, ::testing::ElementsAre(PowerMode::kBurst, PowerMode::kBurst,
                                            PowerMode::kSustainedHigh, PowerMode::kSustainedHigh));
}

}  // namespace
}  // namespace hexlane
