// For tests: MUST(result).
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_MUST_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_MUST_H_

#include <gtest/gtest.h>

#include "hexlane/status.h"

// The value of a Result, or a test failure that shows the Error.
#define MUST(...)                                        \
  ({                                                     \
    auto&& must_result = (__VA_ARGS__);                  \
    if (!must_result.has_value()) {                      \
      ADD_FAILURE() << must_result.error().ToString();   \
      std::abort();                                      \
    }                                                    \
    ::hexlane::internal::Unwrap(std::move(must_result)); \
  })

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_MUST_H_
