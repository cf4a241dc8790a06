// Power and heat: what an app tells the runtime about the phone's temperature, and what the runtime
// does about it. Pass one PowerControl to Engine::Open and keep it:
//
//   auto power = TRY(PowerControl::Create());
//   auto engine = TRY(Engine::Open("model.hxl", {.power = power}));
//   power->PushTemperature(38.5);   // from any thread, whenever the app learns it
#ifndef HEXLANE_POWER_H_
#define HEXLANE_POWER_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

// What a device is asked for, the fastest first.
enum class PowerMode { kBurst, kSustainedHigh, kBalanced, kPowerSaver, kReleased };
inline constexpr int kPowerModes = 5;
std::string_view PowerModeName(PowerMode mode);  // "burst", "sustained_high", …

enum class HeatState {
  kNormal,
  kSaver,     // power saver, few tokens a second
  kCritical,  // generation ends with FinishReason::kTooHot, or does not begin
};
std::string_view HeatStateName(HeatState state);  // "normal", "saver", "critical"

// Degrees Celsius of the case, as a hand feels it; never of the chip, which runs hotter.
struct HeatLimits {
  double saver = 40;     // at and above: kSaver
  double recover = 37;   // below: kNormal again
  double critical = 50;  // at and above: kCritical
  double restart = 48;   // below: kSaver again
  double saver_tokens_per_second = 3;
  // A temperature older than this is no longer known: push at least as often.
  double stale_seconds = 60;
};
// kUsage unless recover < saver < critical, saver ≤ restart < critical, temperatures within what a
// phone can measure, and rate and time positive.
Result<void> CheckHeatLimits(const HeatLimits& limits);

// What time it is, and waiting: simulations bring their own.
class PowerClock {
 public:
  virtual ~PowerClock() = default;
  virtual double Now() const = 0;  // seconds, never going back
  virtual void Sleep(double seconds) = 0;
};

class Thermometer {
 public:
  virtual ~Thermometer() = default;
  // Nothing when it cannot be read now. Called by one thread at a time, must not allocate.
  virtual std::optional<double> Celsius() = 0;
};

// The thermal zones below `root`/sys/class/thermal that measure the case, or else the battery; the
// warmest counts. kUnsupported, listing the zones there are, when none does or none can be read:
// most phones keep them from apps, which push what Android tells them instead.
Result<std::shared_ptr<Thermometer>> OpenSysfsThermometer(const std::filesystem::path& root = "/");

struct PowerOptions {
  HeatLimits limits;
  std::shared_ptr<Thermometer> thermometer;  // asked once a second while generating; null: none
  std::shared_ptr<PowerClock> clock;         // null: the system's
};

struct PowerStatus {
  std::optional<double> celsius;  // last sound reading, unless stale
  int thermal_status = -1;        // last pushed; -1: none
  HeatState heat = HeatState::kNormal;
  PowerMode mode = PowerMode::kReleased;  // wanted now
  bool mode_available = true;             // false: the device does not take modes
  std::string mode_note;                  // why not
  int ignored_readings = 0;               // absurd ones
};

// Thread-safe. May serve several engines of one phone, which then share its limits.
class PowerControl {
 public:
  static Result<std::shared_ptr<PowerControl>> Create(PowerOptions options = {});
  ~PowerControl();
  PowerControl(const PowerControl&) = delete;
  PowerControl& operator=(const PowerControl&) = delete;

  // Readings that are no number or outside -40..120 °C are counted and ignored.
  void PushTemperature(double celsius);
  // Android's PowerManager.THERMAL_STATUS_*: 0..1 normal, 2..3 saver, 4..6 critical. Holds until
  // the next one. Others are counted and ignored.
  void PushThermalStatus(int status);
  // As if nothing had ever been pushed.
  void ForgetReadings();

  Result<void> SetLimits(const HeatLimits& limits);  // kUsage as CheckHeatLimits
  HeatLimits limits() const;
  PowerStatus status() const;

  class Impl;
  Impl& impl() const { return *impl_; }  // the runtime's side

 private:
  explicit PowerControl(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hexlane

#endif  // HEXLANE_POWER_H_
