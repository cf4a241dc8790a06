#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hexlane::cli {
namespace {
int write_error = 0;  // errno of the first failed write to stdout
}

bool Write(std::string_view text) {
  if (write_error != 0) return false;
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written != text.size() || std::fflush(stdout) != 0) write_error = errno ? errno : EIO;
  return write_error == 0;
}

void WriteNote(std::string_view text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PrintJson(const Json& json) { Write(Dump(json) + "\n"); }

Result<void> FinishOutput() {
  if (write_error == 0) return {};
  return Io("cannot write to standard output: {}", std::strerror(write_error));
}

}  // namespace hexlane::cli
