// The SoC that this process runs on, as the kernel tells it.
#ifndef HEXLANE_TARGET_DEVICE_H_
#define HEXLANE_TARGET_DEVICE_H_

#include <filesystem>
#include <string>

#include "target/target.h"

namespace hexlane {

struct DeviceSoc {
  int kernel_id = 0;               // 0: no Snapdragon, or it does not say
  const Target* target = nullptr;  // its row of soc.def; null where there is none

  bool known() const { return kernel_id != 0; }
  std::string ToString() const;  // "SM8650 (Snapdragon 8 Gen 3, V75)", "a SoC of kernel id 999"
};

// Reads `root`/sys/devices/soc0/soc_id (Android), or system/soc/soc0/id (mainline names).
DeviceSoc DetectSoc(const std::filesystem::path& root = "/");

}  // namespace hexlane

#endif  // HEXLANE_TARGET_DEVICE_H_
