// Vendor error codes as Errors a user can act on.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_ERRORS_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_ERRORS_H_

#include <string>

#include "backends/qnn/driver/abi.h"
#include "hexlane/status.h"

namespace hexlane::qnn {

// "3110 (0xc26), op refused by validation: the op's shapes, ...": reports have either notation.
std::string Describe(abi::Status status);

// kVendor: `what` failed with `status`; the translation, the library's last log lines and a remedy
// are added.
Failure VendorFailure(abi::Status status, std::string what);

// VendorFailure unless status is 0.
inline Result<void> CheckStatus(abi::Status status, const char* what) {
  if (status != 0) return VendorFailure(status, what);
  return {};
}

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_ERRORS_H_
