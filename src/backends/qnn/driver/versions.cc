#include "backends/qnn/driver/versions.h"

#include <charconv>
#include <tuple>

namespace hexlane::qnn {
namespace {

// "5.51.0"; false for anything else.
bool Parse(std::string_view text, abi::Version& version) {
  const char* at = text.data();
  const char* end = at + text.size();
  uint32_t* const numbers[] = {&version.major, &version.minor, &version.patch};
  for (size_t i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return false;
    const auto [next, error] = std::from_chars(at, end, *numbers[i]);
    if (error != std::errc()) return false;
    at = next;
  }
  return at == end;
}

}  // namespace

Result<void> CheckMadeWith(std::string_view made_with, const abi::Version& here) {
  if (made_with.empty()) return {};
  abi::Version made = {};
  if (!Parse(made_with, made))
    return Corrupt("the manifest's version of the QNN library is no version")
        .Want("three numbers, like 5.51.0")
        .Got("{}", made_with);
  const bool older = std::tie(here.minor, here.patch) < std::tie(made.minor, made.patch);
  if (here.major == made.major && !older) return {};
  return Environment("the package's NPU binaries are not for this version of the QNN library")
      .Want("HTP backend {} or a later {}.x", made_with, made.major)
      .Got("{}.{}.{}", here.major, here.minor, here.patch)
      .Remedy(
          "Ship the library that the package was converted with, or convert again with the older "
          "one (--qnn)");
}

}  // namespace hexlane::qnn
