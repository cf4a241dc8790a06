#include "target/device.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_dir.h"

namespace hexlane {
namespace {

class DeviceTest : public ::testing::Test {
 protected:
  DeviceSoc With(const std::string& place, const std::string& text) {
    const auto file = dir_.path() / place;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return DetectSoc(dir_.path());
  }
  testing::TempDir dir_;
};

TEST_F(DeviceTest, KnowsAndroidsAndMainlinesPlaces) {
  const DeviceSoc mainline = With("sys/devices/system/soc/soc0/id", "618\n");
  ASSERT_NE(mainline.target, nullptr);
  EXPECT_EQ(mainline.target->name, "SM8750");
  const DeviceSoc android = With("sys/devices/soc0/soc_id", "557\n");
  ASSERT_NE(android.target, nullptr);
  EXPECT_EQ(android.target->name, "SM8650");
  EXPECT_EQ(android.ToString(), "SM8650 (Snapdragon 8 Gen 3, V75)");
}

TEST_F(DeviceTest, EveryKernelIdOfASocIsIts) {
  for (const char* id : {"457", "480", "482"}) {
    const DeviceSoc soc = With("sys/devices/soc0/soc_id", id);
    ASSERT_NE(soc.target, nullptr) << id;
    EXPECT_EQ(soc.target->name, "SM8450");
  }
}

TEST_F(DeviceTest, ASocWithoutARowIsKnownByItsNumber) {
  const DeviceSoc soc = With("sys/devices/soc0/soc_id", "999");
  EXPECT_TRUE(soc.known());
  EXPECT_EQ(soc.target, nullptr);
  EXPECT_EQ(soc.ToString(), "a SoC of kernel id 999");
}

TEST_F(DeviceTest, NothingIsSaidOfOtherMachines) {
  EXPECT_FALSE(DetectSoc(dir_.path()).known());
  EXPECT_FALSE(With("sys/devices/soc0/soc_id", "no number").known());
  EXPECT_FALSE(With("sys/devices/soc0/soc_id", "-4").known());
}

}  // namespace
}  // namespace hexlane
