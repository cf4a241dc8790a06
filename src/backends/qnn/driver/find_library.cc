#include <cstdlib>
#include <system_error>
#include <vector>

#include "backends/qnn/driver/library.h"

namespace hexlane::qnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libQnnHtp.so";
constexpr const char* kRemedy =
    "Run tools/setup.sh (it installs the package onnxruntime-qnn into .venv), or name the library "
    "with --qnn, HEXLANE_QNN or QNN_SDK_ROOT.";
#if defined(__aarch64__) && defined(__ANDROID__)
constexpr const char* kPlatforms[] = {"aarch64-android"};
#elif defined(__aarch64__)
constexpr const char* kPlatforms[] = {"aarch64-oe-linux-gcc11.2", "aarch64-oe-linux-gcc9.3",
                                      "aarch64-ubuntu-gcc9.4"};
#else
constexpr const char* kPlatforms[] = {"x86_64-linux-clang"};
#endif

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Collects the places looked at, for the message.
struct Search {
  std::vector<fs::path> tried;

  bool Try(const fs::path& file) {
    tried.push_back(file);
    return IsFile(file);
  }
};

Failure Missing(const Search& search) {
  std::string places;
  for (const fs::path& path : search.tried) places += (places.empty() ? "" : ", ") + path.string();
  return Environment("the QNN library {} was not found", kFile)
      .At("searched {}", places)
      .Remedy("{}", kRemedy);
}

// A file is taken as it is; a folder must contain libQnnHtp.so, at its top or where an SDK has it.
Result<fs::path> InNamedPlace(const fs::path& place, std::string_view origin) {
  std::error_code ignored;
  if (!fs::is_directory(place, ignored)) {
    if (IsFile(place)) return place;
    return Environment("{} names a file that is not there", origin)
        .At("{}", place.string())
        .Want("{} or a folder with it", kFile)
        .Remedy("{}", kRemedy);
  }
  Search search;
  if (search.Try(place / kFile)) return place / kFile;
  for (const char* platform : kPlatforms)
    if (search.Try(place / "lib" / platform / kFile)) return search.tried.back();
  return Missing(search);
}

// <root>/.venv/lib/python3.x/site-packages/onnxruntime_qnn/libQnnHtp.so
bool TryVenv(const fs::path& root, Search& search) {
  const fs::path lib = root / ".venv" / "lib";
  std::error_code error;
  for (fs::directory_iterator it(lib, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with("python3")) continue;
    if (search.Try(it->path() / "site-packages" / "onnxruntime_qnn" / kFile)) return true;
  }
  search.tried.push_back(lib / "python3*" / "site-packages" / "onnxruntime_qnn" / kFile);
  return false;
}

bool TryVenvUpwards(fs::path directory, Search& search) {
  for (int level = 0; level < 5 && !directory.empty(); ++level) {
    std::error_code ignored;
    if (fs::exists(directory / ".venv", ignored) || level == 0)
      if (TryVenv(directory, search)) return true;
    if (directory == directory.root_path()) break;
    directory = directory.parent_path();
  }
  return false;
}

}  // namespace

Result<fs::path> FindLibrary(const fs::path& explicit_path) {
  if (!explicit_path.empty()) return InNamedPlace(explicit_path, "--qnn");
  if (const char* named = std::getenv("HEXLANE_QNN"); named && *named)
    return InNamedPlace(named, "HEXLANE_QNN");
  Search search;
  if (const char* sdk = std::getenv("QNN_SDK_ROOT"); sdk && *sdk)
    for (const char* platform : kPlatforms)
      if (search.Try(fs::path(sdk) / "lib" / platform / kFile)) return search.tried.back();
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (!program.empty() && search.Try(program / kFile)) return search.tried.back();
  const fs::path here = fs::current_path(ignored);
  if (!here.empty() && TryVenvUpwards(here, search)) return search.tried.back();
  if (!program.empty() && TryVenvUpwards(program, search)) return search.tried.back();
  return Missing(search);
}

fs::path SystemLibraryBeside(const fs::path& htp_library) {
  return htp_library.parent_path() / "libQnnSystem.so";
}

}  // namespace hexlane::qnn
