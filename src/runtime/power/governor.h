// Whether a phone is too warm: readings in, one of three states out. Pure; time is an argument.
#ifndef HEXLANE_RUNTIME_POWER_GOVERNOR_H_
#define HEXLANE_RUNTIME_POWER_GOVERNOR_H_

#include "hexlane/power.h"

namespace hexlane {

// What the state follows, the worse of two:
//   temperature   hysteresis as in HeatLimits. Never known: normal. Stale: critical stays, all else
//                 is saver, since a sensor that falls silent is no proof of being cool.
//   status        as PowerControl::PushThermalStatus; Android has its own hysteresis.
class HeatGovernor {
 public:
  explicit HeatGovernor(const HeatLimits& limits) : limits_(limits) {}

  const HeatLimits& limits() const { return limits_; }
  void SetLimits(const HeatLimits& limits) { limits_ = limits; }

  // False: absurd, ignored.
  bool AddTemperature(double celsius, double now);
  bool AddStatus(int status);
  void Forget();

  HeatState Update(double now);
  std::optional<double> Celsius(double now) const;  // unless stale
  int status() const { return status_; }

 private:
  bool Stale(double now) const { return now - celsius_at_ > limits_.stale_seconds; }
  HeatState ByTemperature(double now) const;
  HeatState ByStatus() const;

  HeatLimits limits_;
  std::optional<double> celsius_;
  double celsius_at_ = 0;
  int status_ = -1;
  HeatState by_temperature_ = HeatState::kNormal;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_POWER_GOVERNOR_H_
