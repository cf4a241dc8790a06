// Votes for the speed of the DSP and its bus.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_POWER_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_POWER_H_

#include <memory>
#include <mutex>
#include <optional>

#include "backends/qnn/driver/device.h"
#include "hexlane/power.h"

namespace hexlane::qnn {

// Holds one identity at the DSP, which counts the votes of all; Thread-safe.
class HtpPower {
 public:
  // kUnsupported where there is no DSP to vote at: the emulator.
  static Result<std::unique_ptr<HtpPower>> Create(std::shared_ptr<const Device> device);
  // The calls alone; they outlive it.
  static Result<std::unique_ptr<HtpPower>> Create(const abi::PowerInfrastructure& calls);
  ~HtpPower();  // releases first
  HtpPower(const HtpPower&) = delete;
  HtpPower& operator=(const HtpPower&) = delete;

  // No call when `mode` is the one set.
  Result<void> Set(PowerMode mode);

 private:
  HtpPower(const abi::PowerInfrastructure& calls, uint32_t id) : calls_(calls), id_(id) {}
  std::shared_ptr<const Device> device_;  // whose library the calls are in; null in tests
  abi::PowerInfrastructure calls_;
  uint32_t id_;
  std::mutex mutex_;
  std::optional<PowerMode> mode_;  // that is set
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_POWER_H_
