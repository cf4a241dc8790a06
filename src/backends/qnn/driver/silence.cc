#include "backends/qnn/driver/silence.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace hexlane::qnn {
namespace {

std::mutex mutex;
int depth = 0;
int saved = -1;  // the real standard output while silenced

void Redirect() {
  std::fflush(stdout);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (saved >= 0) dup2(null, STDOUT_FILENO);
  close(null);
}

void Restore() {
  if (saved < 0) return;
  std::fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  saved = -1;
}

}  // namespace

StdoutSilencer::StdoutSilencer() {
  std::lock_guard lock(mutex);
  if (depth++ == 0) Redirect();
}

StdoutSilencer::~StdoutSilencer() {
  std::lock_guard lock(mutex);
  if (--depth == 0) Restore();
}

}  // namespace hexlane::qnn
