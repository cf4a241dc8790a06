#include "runtime/power/votes.h"

#include "runtime/power/control.h"

namespace hexlane {

PowerVotes::PowerVotes(std::vector<const Executor*> executors,
                       std::shared_ptr<PowerControl> control)
    : executors_(std::move(executors)), control_(std::move(control)) {}

PowerMode PowerVotes::mode() const {
  const std::lock_guard lock(mutex_);
  return mode_;
}

void PowerVotes::Change(PowerMode from, PowerMode to) {
  const std::lock_guard lock(mutex_);
  if (from != PowerMode::kReleased) --wishes_[static_cast<size_t>(from)];
  if (to != PowerMode::kReleased) ++wishes_[static_cast<size_t>(to)];
  const PowerMode mode = Fastest();
  if (mode == mode_) return;
  mode_ = mode;
  Apply(mode);
}

PowerMode PowerVotes::Fastest() const {
  for (size_t i = 0; i < wishes_.size(); ++i)
    if (wishes_[i] > 0) return static_cast<PowerMode>(i);
  return PowerMode::kReleased;
}

// A vote that fails slows a token down or warms the phone, and is no reason to lose the answer.
void PowerVotes::Apply(PowerMode mode) {
  std::erase_if(executors_, [&](const Executor* executor) {
    const Result<void> set = executor->SetPowerMode(mode);
    if (!set) note_ = set.error().ToString();
    return !set && set.error().code == Code::kUnsupported;
  });
  if (control_) control_->impl().ShowMode(mode, !executors_.empty(), note_);
}

}  // namespace hexlane
