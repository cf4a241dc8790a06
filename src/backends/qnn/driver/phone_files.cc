#include "backends/qnn/driver/phone_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace hexlane::qnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "ADSP_LIBRARY_PATH";
// Where vendors of phones put skels, newer layouts first.
constexpr const char* kVendorPlaces[] = {"/vendor/lib64/rfs/dsp", "/vendor/lib/rfsa/adsp",
                                         "/vendor/dsp/cdsp",      "/vendor/dsp",
                                         "/system/lib/rfsa/adsp", "/dsp"};

// Of libQnnHtpV<n>Stub.so; 0 for other names.
int GenerationOf(std::string_view name) {
  constexpr std::string_view kBefore = "libQnnHtpV", kAfter = "Stub.so";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return 0;
  name.remove_prefix(kBefore.size());
  int generation = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), generation);
  return error == std::errc() && std::string_view(end) == kAfter ? generation : 0;
}

}  // namespace

std::vector<int> StubsIn(const fs::path& folder) {
  std::vector<int> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (const int generation = GenerationOf(it->path().filename().string()))
      found.push_back(generation);
  std::ranges::sort(found, std::ranges::greater());
  return found;
}

std::vector<int> ArchOrder(std::vector<int> stubs, int arch) {
  std::ranges::stable_sort(
      stubs, {}, [&](int stub) { return std::pair(stub > arch, stub > arch ? stub : -stub); });
  if (arch == 0) std::ranges::sort(stubs, std::ranges::greater());
  return stubs;
}

Result<void> CheckStub(const fs::path& folder, int arch) {
  const std::vector<int> stubs = StubsIn(folder);
  if (arch == 0 || stubs.empty() || std::ranges::count(stubs, arch) > 0) return {};
  return Environment("the HTP library has no stub for this phone's NPU")
      .At("{}", folder.string())
      .Want("libQnnHtpV{}Stub.so, and libQnnHtpV{}Skel.so for the DSP", arch, arch)
      .Got("stubs of V{}", fmt::join(stubs, ", V"))
      .Remedy("Add both files of the same SDK to the app");
}

std::string SkelSearchPath(const fs::path& skel_dir, const fs::path& library_dir) {
  std::vector<std::string> places;
  for (const fs::path& place : {skel_dir, library_dir})
    if (!place.empty()) places.push_back(place.string());
  places.insert(places.end(), std::begin(kVendorPlaces), std::end(kVendorPlaces));
  return fmt::format("{}", fmt::join(places, ";"));
}

void SetSkelSearchPath(const fs::path& skel_dir, const fs::path& library_dir) {
  static std::mutex mutex;
  static std::string ours;  // what was set here may be set anew
  const std::lock_guard lock(mutex);
  const char* set = std::getenv(kVariable);
  if (set != nullptr && *set != 0 && ours != set) return;
  ours = SkelSearchPath(skel_dir, library_dir);
  ::setenv(kVariable, ours.c_str(), 1);
}

}  // namespace hexlane::qnn
