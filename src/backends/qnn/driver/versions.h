// Context binaries run on the library that made them, or a later one.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_VERSIONS_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_VERSIONS_H_

#include <string_view>

#include "backends/qnn/driver/abi.h"
#include "hexlane/status.h"

namespace hexlane::qnn {

// `made_with`: "5.51.0", of the HTP backend that made a package's binaries; empty: not known, which
// passes. kEnvironment when `here` is older or of another major version; kCorrupt when it is no
// version.
Result<void> CheckMadeWith(std::string_view made_with, const abi::Version& here);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_VERSIONS_H_
