#include <sys/utsname.h>
#include <unistd.h>

#include "backends/qnn/driver/library.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "hexlane/compiler.h"
#include "kernels/cpu.h"

namespace hexlane {
namespace {

Finding Program() { return {.name = "hexlane", .ok = true, .found = HEXLANE_VERSION}; }

Finding System() {
  utsname name{};
  uname(&name);
  return {.name = "system",
          .ok = true,
          .found = fmt::format("{} {} {}", name.sysname, name.release, name.machine)};
}

Finding Processor() {
  const std::string features = CpuFeatures();
  Finding finding{.name = "processor", .ok = !features.empty()};
  finding.found = fmt::format("{} threads, {}", DefaultThreads(),
                              features.empty() ? "no vector extensions" : features);
  if (!finding.ok)
    finding.remedy =
        "Plain C++ kernels run: a processor with AVX2 or NEON dot products is many times faster";
  return finding;
}

Finding Memory() {
  const double gib = static_cast<double>(PhysicalMemoryBytes()) / (1 << 30);
  Finding finding{.name = "memory", .ok = gib >= 2, .found = fmt::format("{:.1f} GiB", gib)};
  if (!finding.ok)
    finding.remedy = "Converting needs about 1.2 GiB for a 135M model: close other programs";
  return finding;
}

std::string VersionText(const qnn::abi::Version& v) {
  return fmt::format("{}.{}.{}", v.major, v.minor, v.patch);
}

// Where the licence of the package that carries the library lies: the wheel's own files beside it.
std::string LicenceNear(const std::filesystem::path& library) {
  std::error_code ignored;
  const auto folder = library.parent_path().parent_path();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours = entry.path().string().find("onnxruntime_qnn") != std::string::npos;
    if (ours && (name.find("LICENSE") != name.npos || name.find("License") != name.npos))
      return entry.path().string();
  }
  return "";
}

void VendorLibrary(const std::string& vendor_library, std::vector<Finding>& findings) {
  Finding htp{.name = "libQnnHtp.so"};
  const auto path = qnn::FindLibrary(vendor_library);
  const auto library = path ? qnn::Library::Open(*path) : tl::unexpected<Error>(path.error());
  if (!library) {
    htp.found = library.error().what;
    htp.remedy = library.error().remedy;
    findings.push_back(std::move(htp));
    return;
  }
  htp.ok = true;
  htp.found = fmt::format("{}, core API {}, HTP API {}", path->string(),
                          VersionText((*library)->core_version()),
                          VersionText((*library)->backend_version()));
  findings.push_back(std::move(htp));
  const auto system_path = qnn::SystemLibraryBeside(*path);
  const auto system = qnn::SystemLibrary::Open(system_path);
  findings.push_back(
      {.name = "libQnnSystem.so",
       .ok = system.has_value(),
       .found = system ? system_path.string() : system.error().what,
       .remedy =
           system ? ""
                  : "inspect of context binaries needs it: reinstall the package of libQnnHtp.so"});
  const std::string licence = LicenceNear(*path);
  if (!licence.empty())
    findings.push_back({.name = "Qualcomm's licence", .ok = true, .found = licence});
}

}  // namespace

std::vector<Finding> Diagnose(const std::string& vendor_library) {
  std::vector<Finding> findings = {Program(), System(), Processor(), Memory()};
  VendorLibrary(vendor_library, findings);
  return findings;
}

}  // namespace hexlane
