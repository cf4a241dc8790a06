#include "hexlane/interrupt.h"

#include <signal.h>

#include <csignal>

namespace hexlane {
namespace {
volatile std::sig_atomic_t interrupted = 0;

void OnSignal(int signal) {
  if (interrupted) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  interrupted = 1;
}
}  // namespace

void CatchInterrupts() {
  struct sigaction action{};
  action.sa_handler = OnSignal;  // no SA_RESTART: waiting for input ends
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup{};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup stays
}

bool Interrupted() { return interrupted != 0; }

Result<void> CheckInterrupt() {
  if (Interrupted()) return Cancelled("interrupted");
  return {};
}

}  // namespace hexlane
