// The runtime's side of a PowerControl: asked between tokens.
#ifndef HEXLANE_RUNTIME_POWER_CONTROL_H_
#define HEXLANE_RUNTIME_POWER_CONTROL_H_

#include <functional>
#include <mutex>

#include "runtime/power/governor.h"

namespace hexlane {

// Thread-safe; none of it allocates, but for ShowMode with a note.
class PowerControl::Impl {
 public:
  explicit Impl(PowerOptions options);

  // Reads the thermometer, when it is time, and says how warm the phone is.
  HeatState Look();
  // Returns when the next token may come: at once when not in kSaver, else not before 1 / rate
  // seconds after the last one of any session. Looks again and again; `cancelled` ends the wait.
  void WaitForTurn(const std::function<bool()>& cancelled);
  void ShowMode(PowerMode mode, bool available, const std::string& note);

  void Push(double celsius);
  void PushStatus(int status);
  void Forget();
  Result<void> SetLimits(const HeatLimits& limits);
  HeatLimits limits() const;
  PowerStatus status() const;

 private:
  HeatState LookLocked(double now);
  double TimeToWait();  // 0: the turn is taken

  std::shared_ptr<Thermometer> thermometer_;
  std::shared_ptr<PowerClock> clock_;
  mutable std::mutex mutex_;
  mutable HeatGovernor governor_;
  double next_poll_;
  double last_turn_;
  PowerMode mode_ = PowerMode::kReleased;
  bool mode_available_ = true;
  std::string mode_note_;
  int ignored_ = 0;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_POWER_CONTROL_H_
