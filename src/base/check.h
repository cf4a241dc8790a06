// CHECK is for programming mistakes only: it prints the broken condition and aborts. Data never
// reaches it.
#ifndef HEXLANE_BASE_CHECK_H_
#define HEXLANE_BASE_CHECK_H_

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace hexlane {
[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  fmt::print(stderr, "{}:{}: bug in Hexlane: {} is false\n", file, line, condition);
  std::abort();
}
}  // namespace hexlane

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::hexlane::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#endif  // HEXLANE_BASE_CHECK_H_
