#include "target/device.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"

namespace hexlane {
namespace {

constexpr const char* kPlaces[] = {"sys/devices/soc0/soc_id", "sys/devices/system/soc/soc0/id"};
constexpr size_t kMaxBytes = 4096;

int ReadId(const std::filesystem::path& file) {
  const Result<std::string> text = ReadTextFile(file, kMaxBytes);
  int id = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), id);
  return std::max(id, 0);
}

const Target* OfKernelId(int id) {
  for (const Target& target : AllTargets())
    if (std::ranges::count(target.kernel_ids, id) > 0) return &target;
  return nullptr;
}

}  // namespace

std::string DeviceSoc::ToString() const {
  if (target == nullptr) return fmt::format("a SoC of kernel id {}", kernel_id);
  return fmt::format("{} ({}, V{})", target->name, target->market_name,
                     static_cast<int>(target->arch));
}

DeviceSoc DetectSoc(const std::filesystem::path& root) {
  for (const char* place : kPlaces)
    if (const int id = ReadId(root / place)) return {.kernel_id = id, .target = OfKernelId(id)};
  return {};
}

}  // namespace hexlane
