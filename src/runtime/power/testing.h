// For tests: a clock that only tests move, and a phone that warms up.
#ifndef HEXLANE_RUNTIME_POWER_TESTING_H_
#define HEXLANE_RUNTIME_POWER_TESTING_H_

#include <algorithm>

#include "hexlane/power.h"

namespace hexlane::testing {

// A phone's case as one heat capacity C behind one resistance R to the air:
//   C dT/dt = P - (T - ambient) / R
// C = 120 J/K: about 170 g at 0.7 J/(g K). R = 5 K/W: 0.02 m2 of free surface at 10 W/(m2 K).
// Power: 0.5 W idle with the screen dimmed, more while a token is computed (kWatts), as published
// measurements of language models on such NPUs range. The figures are for the shape of the curve;
// they are no measurement of a device.
class SimulatedPhone : public PowerClock, public Thermometer {
 public:
  static constexpr double kCapacity = 120;  // J/K
  static constexpr double kResistance = 5;  // K/W
  static constexpr double kIdleWatts = 0.5;
  static constexpr double kWatts[kPowerModes] = {7, 5, 3.5, 2.5, 2.5};
  static constexpr double kTokenSeconds[kPowerModes] = {0.04, 0.05, 0.07, 0.1, 0.1};

  SimulatedPhone(double ambient, double celsius) : ambient_(ambient), celsius_(celsius) {}

  double Now() const override { return now_; }
  void Sleep(double seconds) override { Spend(seconds, kIdleWatts); }
  std::optional<double> Celsius() override { return celsius_; }

  // Computes a token.
  void Work(PowerMode mode) {
    const auto index = static_cast<size_t>(mode);
    Spend(kTokenSeconds[index], kIdleWatts + kWatts[index]);
  }

 private:
  void Spend(double seconds, double watts) {
    now_ += seconds;
    while (seconds > 0) {
      const double step = std::min(seconds, 0.1);  // far below R C = 600 s
      celsius_ += step * (watts - (celsius_ - ambient_) / kResistance) / kCapacity;
      seconds -= step;
    }
  }

  double ambient_;
  double celsius_;
  double now_ = 0;
};

}  // namespace hexlane::testing

#endif  // HEXLANE_RUNTIME_POWER_TESTING_H_
