#include "runtime/power/governor.h"

#include <algorithm>
#include <cmath>

namespace hexlane {
namespace {

constexpr double kColdest = -40, kHottest = 120;  // °C: what thermistors of phones can measure
constexpr double kLowestRate = 0.01;              // tokens/s; less is a stop, which is `critical`

bool Measurable(double celsius) { return celsius >= kColdest && celsius <= kHottest; }  // not NaN

}  // namespace

Result<void> CheckHeatLimits(const HeatLimits& limits) {
  const bool measurable = Measurable(limits.saver) && Measurable(limits.recover) &&
                          Measurable(limits.critical) && Measurable(limits.restart);
  const bool ordered = limits.recover < limits.saver && limits.saver <= limits.restart &&
                       limits.restart < limits.critical;
  if (!measurable || !ordered) {
    return Usage("heat limits contradict each other")
        .Want("{} <= recover < saver <= restart < critical <= {} (degrees Celsius)", kColdest,
              kHottest)
        .Got("recover {}, saver {}, restart {}, critical {}", limits.recover, limits.saver,
             limits.restart, limits.critical)
        .Remedy("Leave a degree or more between a limit and the way back");
  }
  const double rate = limits.saver_tokens_per_second;
  if (!(rate >= kLowestRate) || !std::isfinite(rate))
    return Usage("the rate of a warm phone is out of range")
        .Want("{} tokens/s or more", kLowestRate)
        .Got("{}", rate);
  if (!(limits.stale_seconds > 0))
    return Usage("readings must count for some time")
        .Want("stale_seconds > 0")
        .Got("{}", limits.stale_seconds);
  return {};
}

bool HeatGovernor::AddTemperature(double celsius, double now) {
  if (!Measurable(celsius)) return false;
  celsius_ = celsius;
  celsius_at_ = now;
  return true;
}

bool HeatGovernor::AddStatus(int status) {
  if (status < 0 || status > 6) return false;
  status_ = status;
  return true;
}

void HeatGovernor::Forget() { *this = HeatGovernor(limits_); }

std::optional<double> HeatGovernor::Celsius(double now) const {
  if (!celsius_ || Stale(now)) return std::nullopt;
  return celsius_;
}

HeatState HeatGovernor::ByTemperature(double now) const {
  if (!celsius_) return HeatState::kNormal;
  if (Stale(now)) return std::max(by_temperature_, HeatState::kSaver);
  const bool was_saver = by_temperature_ >= HeatState::kSaver;
  const bool was_critical = by_temperature_ == HeatState::kCritical;
  if (*celsius_ >= (was_critical ? limits_.restart : limits_.critical)) return HeatState::kCritical;
  if (*celsius_ >= (was_saver ? limits_.recover : limits_.saver)) return HeatState::kSaver;
  return HeatState::kNormal;
}

HeatState HeatGovernor::ByStatus() const {
  if (status_ >= 4) return HeatState::kCritical;
  return status_ >= 2 ? HeatState::kSaver : HeatState::kNormal;
}

HeatState HeatGovernor::Update(double now) {
  by_temperature_ = ByTemperature(now);
  return std::max(by_temperature_, ByStatus());
}

}  // namespace hexlane
