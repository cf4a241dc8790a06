// The files beside libQnnHtp.so that a phone needs: a stub for its HTP generation, which the
// library loads by name, and a skel for the DSP, which FastRPC finds by ADSP_LIBRARY_PATH.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_PHONE_FILES_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_PHONE_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "hexlane/status.h"

namespace hexlane::qnn {

// The HTP generations whose libQnnHtpV<n>Stub.so is in `folder`, the latest first.
std::vector<int> StubsIn(const std::filesystem::path& folder);

// The order in which to try generations: `arch` (0: unknown) if its stub is there, then the earlier
// ones, the latest first, then the later ones.
std::vector<int> ArchOrder(std::vector<int> stubs, int arch);

// kEnvironment, naming the stubs present, where `folder` has stubs but none of `arch`. Where it has
// none the system's may serve.
Result<void> CheckStub(const std::filesystem::path& folder, int arch);

// Where FastRPC shall look for skels: `skel_dir` (may be empty), the library's own folder, then the
// vendor's places. Separated by ';', also where PATH has ':' (fastrpc#379).
std::string SkelSearchPath(const std::filesystem::path& skel_dir,
                           const std::filesystem::path& library_dir);

// Sets ADSP_LIBRARY_PATH to that before the library is loaded, unless the user has set it.
void SetSkelSearchPath(const std::filesystem::path& skel_dir,
                       const std::filesystem::path& library_dir);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_PHONE_FILES_H_
