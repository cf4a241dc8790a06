// libQnnHtp.so (and libQnnSystem.so beside it), loaded at run time.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_LIBRARY_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_LIBRARY_H_

#include <filesystem>
#include <memory>
#include <string>

#include "backends/qnn/driver/abi.h"
#include "backends/qnn/driver/power_abi.h"
#include "hexlane/status.h"

namespace hexlane::qnn {

// Typed pointers to the calls of functions.def.
namespace abi {
struct Functions {
#define QNN_FUNCTION(slot, Name, ...) Status(*Name) __VA_ARGS__ = nullptr;
#define QNN_OPTIONAL_FUNCTION QNN_FUNCTION
#include "backends/qnn/driver/functions.def"
};
struct SystemFunctions {
#define QNN_SYSTEM_FUNCTION(slot, Name, ...) Status(*Name) __VA_ARGS__ = nullptr;
#include "backends/qnn/driver/functions.def"
};
}  // namespace abi

// Where libQnnHtp.so is. `explicit_path` (file or folder; empty: none) decides alone when given;
// then HEXLANE_QNN likewise; then $QNN_SDK_ROOT/lib/<platform>; then .venv/ in the working
// directory, the program's directory and their parents; on a phone the program's own directory.
// kEnvironment, listing every place searched.
Result<std::filesystem::path> FindLibrary(const std::filesystem::path& explicit_path = {});

class Library {
 public:
  // Loads the library at `path` (from FindLibrary). kEnvironment when it cannot be loaded, is no
  // QNN library or too old. Stays loaded while a shared_ptr exists.
  static Result<std::shared_ptr<const Library>> Open(const std::filesystem::path& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const abi::Functions& fn() const { return functions_; }
  const std::filesystem::path& path() const { return path_; }
  const abi::Version& core_version() const { return core_; }
  const abi::Version& backend_version() const { return backend_; }
  std::string build_id() const;  // empty when the library has none

 private:
  explicit Library(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  void* handle_ = nullptr;
  abi::Functions functions_;
  abi::Version core_ = {};
  abi::Version backend_ = {};
};

// libQnnSystem.so: reads context binaries without preparing or running anything.
class SystemLibrary {
 public:
  static Result<std::shared_ptr<const SystemLibrary>> Open(const std::filesystem::path& path);
  ~SystemLibrary();
  SystemLibrary(const SystemLibrary&) = delete;
  SystemLibrary& operator=(const SystemLibrary&) = delete;

  const abi::SystemFunctions& fn() const { return functions_; }

 private:
  SystemLibrary() = default;
  void* handle_ = nullptr;
  abi::SystemFunctions functions_;
};

// The libQnnSystem.so that belongs to a libQnnHtp.so: beside it.
std::filesystem::path SystemLibraryBeside(const std::filesystem::path& htp_library);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_LIBRARY_H_
