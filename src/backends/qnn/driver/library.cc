#include "backends/qnn/driver/library.h"

#include <dlfcn.h>

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/silence.h"

namespace hexlane::qnn {
namespace {

constexpr uint32_t kCoreMajor = 2;
constexpr uint32_t kCoreMinorAtLeast = 8;  // older tables lack slots 2, 16, 29 and 33

Result<void*> Load(const std::filesystem::path& path) {
  StdoutSilencer silence;
  void* handle = dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW);
  if (handle) return handle;
  return Environment("cannot load the QNN library")
      .At("{}", path.string())
      .Got("{}", dlerror())
      .Remedy("Run `hexlane doctor`; reinstall with tools/setup.sh.");
}

// The first provider that `entry_point` of the library returns.
template <typename T>
Result<const T*> GetProvider(void* handle, const char* entry_point,
                             const std::filesystem::path& path) {
  using GetProviders = abi::Status (*)(const T*** list, uint32_t* count);
  auto get = reinterpret_cast<GetProviders>(dlsym(handle, entry_point));
  if (!get)
    return Environment("this is not the QNN library expected")
        .At("{}", path.string())
        .Want("the entry point {}", entry_point);
  const T** list = nullptr;
  uint32_t count = 0;
  TRY(CheckStatus(get(&list, &count), "cannot ask the QNN library for its interface"));
  if (count == 0 || !list || !list[0])
    return Environment("the QNN library offers no interface").At("{}", path.string());
  return list[0];
}

Result<void> CheckCoreVersion(const abi::Version& version, const std::filesystem::path& path) {
  if (version.major == kCoreMajor && version.minor >= kCoreMinorAtLeast) return {};
  return Environment("this version of the QNN library is not supported")
      .At("{}", path.string())
      .Want("core API {}.{} or a later {}.x", kCoreMajor, kCoreMinorAtLeast, kCoreMajor)
      .Got("{}.{}.{}", version.major, version.minor, version.patch)
      .Remedy("Install QAIRT 2.51 or the onnxruntime-qnn package that tools/setup.sh pins.");
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::Open(const std::filesystem::path& path) {
  std::shared_ptr<Library> library(new Library(path));
  library->handle_ = TRY(Load(path));
  const auto* provider =
      TRY(GetProvider<abi::Provider>(library->handle_, "QnnInterface_getProviders", path));
  TRY(CheckCoreVersion(provider->core, path));
  library->core_ = provider->core;
  library->backend_ = provider->backend_version;
#define QNN_OPTIONAL_FUNCTION(slot, Name, ...) \
  library->functions_.Name =                   \
      reinterpret_cast<decltype(library->functions_.Name)>(provider->functions[slot]);
#define QNN_FUNCTION(slot, Name, ...)                                                  \
  library->functions_.Name =                                                           \
      reinterpret_cast<decltype(library->functions_.Name)>(provider->functions[slot]); \
  if (!library->functions_.Name)                                                       \
    return Environment("the QNN library lacks the call " #Name).At("{}", path.string());
#include "backends/qnn/driver/functions.def"
  return library;
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

std::string Library::build_id() const {
  const char* id = nullptr;
  return functions_.BackendGetBuildId(&id) == 0 && id ? id : "";
}

Result<std::shared_ptr<const SystemLibrary>> SystemLibrary::Open(
    const std::filesystem::path& path) {
  std::shared_ptr<SystemLibrary> library(new SystemLibrary);
  library->handle_ = TRY(Load(path));
  const auto* provider = TRY(
      GetProvider<abi::SystemProvider>(library->handle_, "QnnSystemInterface_getProviders", path));
#define QNN_SYSTEM_FUNCTION(slot, Name, ...)                                           \
  library->functions_.Name =                                                           \
      reinterpret_cast<decltype(library->functions_.Name)>(provider->functions[slot]); \
  if (!library->functions_.Name)                                                       \
    return Environment("the QNN library lacks the call " #Name).At("{}", path.string());
#include "backends/qnn/driver/functions.def"
  return library;
}

SystemLibrary::~SystemLibrary() {
  if (handle_) dlclose(handle_);
}

}  // namespace hexlane::qnn
