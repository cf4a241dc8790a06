#include "runtime/power/control.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

namespace hexlane {
namespace {

constexpr double kPollSeconds = 1;
constexpr double kSlice = 0.05;  // seconds: how long a wait may miss a cancellation
constexpr double kLongAgo = -std::numeric_limits<double>::infinity();

class SteadyClock : public PowerClock {
 public:
  double Now() const override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }
  void Sleep(double seconds) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
};

}  // namespace

std::string_view PowerModeName(PowerMode mode) {
  switch (mode) {
    case PowerMode::kBurst: return "burst";
    case PowerMode::kSustainedHigh: return "sustained_high";
    case PowerMode::kBalanced: return "balanced";
    case PowerMode::kPowerSaver: return "power_saver";
    case PowerMode::kReleased: return "released";
  }
  return "unknown";
}

std::string_view HeatStateName(HeatState state) {
  switch (state) {
    case HeatState::kNormal: return "normal";
    case HeatState::kSaver: return "saver";
    case HeatState::kCritical: return "critical";
  }
  return "unknown";
}

PowerControl::Impl::Impl(PowerOptions options)
    : thermometer_(std::move(options.thermometer)),
      clock_(options.clock ? std::move(options.clock) : std::make_shared<SteadyClock>()),
      governor_(options.limits),
      next_poll_(kLongAgo),
      last_turn_(kLongAgo) {}

HeatState PowerControl::Impl::LookLocked(double now) {
  if (thermometer_ && now >= next_poll_) {
    next_poll_ = now + kPollSeconds;
    const std::optional<double> celsius = thermometer_->Celsius();
    if (celsius && !governor_.AddTemperature(*celsius, now)) ++ignored_;
  }
  return governor_.Update(now);
}

HeatState PowerControl::Impl::Look() {
  const std::lock_guard lock(mutex_);
  return LookLocked(clock_->Now());
}

double PowerControl::Impl::TimeToWait() {
  const std::lock_guard lock(mutex_);
  const double now = clock_->Now();
  const double next = last_turn_ + 1 / governor_.limits().saver_tokens_per_second;
  if (LookLocked(now) != HeatState::kNormal && now < next) return next - now;
  last_turn_ = now;
  return 0;
}

void PowerControl::Impl::WaitForTurn(const std::function<bool()>& cancelled) {
  for (double left = TimeToWait(); left > 0; left = TimeToWait()) {
    if (cancelled()) return;
    clock_->Sleep(std::min(left, kSlice));
  }
}

void PowerControl::Impl::ShowMode(PowerMode mode, bool available, const std::string& note) {
  const std::lock_guard lock(mutex_);
  mode_ = mode;
  mode_available_ = available;
  mode_note_ = note;
}

void PowerControl::Impl::Push(double celsius) {
  const std::lock_guard lock(mutex_);
  if (!governor_.AddTemperature(celsius, clock_->Now())) ++ignored_;
}

void PowerControl::Impl::PushStatus(int status) {
  const std::lock_guard lock(mutex_);
  if (!governor_.AddStatus(status)) ++ignored_;
}

void PowerControl::Impl::Forget() {
  const std::lock_guard lock(mutex_);
  governor_.Forget();
  ignored_ = 0;
}

Result<void> PowerControl::Impl::SetLimits(const HeatLimits& limits) {
  TRY(CheckHeatLimits(limits));
  const std::lock_guard lock(mutex_);
  governor_.SetLimits(limits);
  return {};
}

HeatLimits PowerControl::Impl::limits() const {
  const std::lock_guard lock(mutex_);
  return governor_.limits();
}

PowerStatus PowerControl::Impl::status() const {
  const std::lock_guard lock(mutex_);
  const double now = clock_->Now();
  return {.celsius = governor_.Celsius(now),
          .thermal_status = governor_.status(),
          .heat = governor_.Update(now),
          .mode = mode_,
          .mode_available = mode_available_,
          .mode_note = mode_note_,
          .ignored_readings = ignored_};
}

Result<std::shared_ptr<PowerControl>> PowerControl::Create(PowerOptions options) {
  TRY(CheckHeatLimits(options.limits));
  return std::shared_ptr<PowerControl>(
      new PowerControl(std::make_unique<Impl>(std::move(options))));
}

PowerControl::PowerControl(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PowerControl::~PowerControl() = default;

void PowerControl::PushTemperature(double celsius) { impl_->Push(celsius); }
void PowerControl::PushThermalStatus(int status) { impl_->PushStatus(status); }
void PowerControl::ForgetReadings() { impl_->Forget(); }
Result<void> PowerControl::SetLimits(const HeatLimits& limits) { return impl_->SetLimits(limits); }
HeatLimits PowerControl::limits() const { return impl_->limits(); }
PowerStatus PowerControl::status() const { return impl_->status(); }

}  // namespace hexlane
