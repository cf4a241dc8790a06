// Thermal zones of the Linux kernel: <zone>/type is a name of the maker's choice, <zone>/temp
// millidegrees (Documentation/ABI/testing/sysfs-class-thermal).
#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <span>
#include <vector>

#include "hexlane/power.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;

// Parts of zone names, the best class first. Zones of processors are in none: a chip of 70 °C in a
// cool case is in order, and HeatLimits mean the case.
constexpr auto kCaseNames = std::to_array<std::string_view>(
    {"skin", "shell", "surface", "quiet", "xo-therm", "xo_therm", "case"});
constexpr auto kBatteryNames = std::to_array<std::string_view>({"batt"});
constexpr double kPlausible[] = {-40, 120};  // °C

struct Zone {
  std::string type;
  fs::path temp;
};

class ZoneThermometer : public Thermometer {
 public:
  ZoneThermometer() = default;
  ~ZoneThermometer() override {
    for (int file : files_) close(file);
  }
  ZoneThermometer(const ZoneThermometer&) = delete;
  ZoneThermometer& operator=(const ZoneThermometer&) = delete;

  void Add(const fs::path& temp) {
    const int file = open(temp.c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) files_.push_back(file);
  }

  std::optional<double> Celsius() override {
    std::optional<double> warmest;
    for (int file : files_)
      if (const auto celsius = Read(file); celsius && celsius >= warmest) warmest = celsius;
    return warmest;
  }

 private:
  static std::optional<double> Read(int file) {
    char text[32];
    const ssize_t length = pread(file, text, sizeof(text), 0);
    long millidegrees = 0;
    if (length <= 0 || std::from_chars(text, text + length, millidegrees).ec != std::errc())
      return std::nullopt;
    const double celsius = static_cast<double>(millidegrees) / 1000;
    if (celsius < kPlausible[0] || celsius > kPlausible[1]) return std::nullopt;
    return celsius;
  }

  std::vector<int> files_;
};

std::vector<Zone> ReadZones(const fs::path& folder) {
  std::vector<Zone> zones;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with("thermal_zone")) continue;
    std::string type;
    if (!std::getline(std::ifstream(at->path() / "type"), type)) continue;
    std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
    zones.push_back({std::move(type), at->path() / "temp"});
  }
  std::ranges::sort(zones, {}, &Zone::type);
  return zones;
}

// Over the zones whose type contains one of `names`; null when none of them can be read now.
std::shared_ptr<Thermometer> Over(const std::vector<Zone>& zones,
                                  std::span<const std::string_view> names) {
  auto thermometer = std::make_shared<ZoneThermometer>();
  for (const Zone& zone : zones) {
    const auto named = [&](std::string_view name) {
      return zone.type.find(name) != std::string::npos;
    };
    if (std::ranges::any_of(names, named)) thermometer->Add(zone.temp);
  }
  if (!thermometer->Celsius()) return nullptr;
  return thermometer;
}

}  // namespace

Result<std::shared_ptr<Thermometer>> OpenSysfsThermometer(const fs::path& root) {
  const fs::path folder = root / "sys/class/thermal";
  const std::vector<Zone> zones = ReadZones(folder);
  if (auto over = Over(zones, kCaseNames)) return over;
  if (auto over = Over(zones, kBatteryNames)) return over;
  std::vector<std::string> types;
  for (const Zone& zone : zones) types.push_back(zone.type);
  return Unsupported("no thermal zone that can be read measures the case or the battery")
      .At("{}", folder.string())
      .Got("{}", types.empty() ? "no zones" : fmt::format("{}", fmt::join(types, ", ")))
      .Remedy("Push temperatures or thermal statuses from the app (PowerControl)");
}

}  // namespace hexlane
