#ifndef HEXLANE_RUNTIME_STOPWATCH_H_
#define HEXLANE_RUNTIME_STOPWATCH_H_

#include <chrono>

namespace hexlane {

// Seconds since it was made or lapped.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Seconds since the last lap; the next one starts now.
  double Lap() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_STOPWATCH_H_
