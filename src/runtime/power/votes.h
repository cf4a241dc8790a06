// The power mode of an engine's executors: the fastest that a running generation wants.
#ifndef HEXLANE_RUNTIME_POWER_VOTES_H_
#define HEXLANE_RUNTIME_POWER_VOTES_H_

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/executor.h"
#include "hexlane/power.h"

namespace hexlane {

// Thread-safe. An executor that does not take modes is not asked again.
class PowerVotes {
 public:
  // `executors` outlive it. `control` is shown each change; may be null.
  PowerVotes(std::vector<const Executor*> executors, std::shared_ptr<PowerControl> control);
  PowerMode mode() const;

  // One generation's wish. Releases it when destroyed.
  class Lease {
   public:
    explicit Lease(PowerVotes& votes) : votes_(votes) {}
    ~Lease() { Set(PowerMode::kReleased); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    // The same mode again costs one comparison.
    void Set(PowerMode mode) {
      if (mode == mode_) return;
      votes_.Change(mode_, mode);
      mode_ = mode;
    }

   private:
    PowerVotes& votes_;
    PowerMode mode_ = PowerMode::kReleased;
  };

 private:
  void Change(PowerMode from, PowerMode to);
  PowerMode Fastest() const;
  void Apply(PowerMode mode);

  mutable std::mutex mutex_;
  std::vector<const Executor*> executors_;  // that take modes
  std::shared_ptr<PowerControl> control_;
  std::array<int, kPowerModes> wishes_ = {};
  PowerMode mode_ = PowerMode::kReleased;
  std::string note_;  // of the last refusal
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_POWER_VOTES_H_
