// Sensors and cores as files of a made-up system.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "package/testing.h"
#include "runtime/power/cores.h"

namespace hexlane {
namespace {

class SysfsTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const auto file = root() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void Zone(int index, const std::string& type, const std::string& temp) {
    const std::string folder = fmt::format("sys/class/thermal/thermal_zone{}/", index);
    Write(folder + "type", type);
    Write(folder + "temp", temp);
  }
  void Cpu(int index, const std::string& file, int value) {
    Write(fmt::format("sys/devices/system/cpu/cpu{}/{}", index, file), std::to_string(value));
  }
  const std::filesystem::path& root() const { return dir_.path(); }

 private:
  testing::TempDir dir_;
};

TEST_F(SysfsTest, TakesTheWarmestZoneOfTheCase) {
  Zone(0, "cpu-0-0-usr", "81000");
  Zone(1, "battery", "45000");
  Zone(2, "SKIN-therm", "38500");
  Zone(3, "xo-therm", "39250");
  const auto thermometer = OpenSysfsThermometer(root());
  ASSERT_TRUE(thermometer) << thermometer.error().ToString();
  EXPECT_EQ((*thermometer)->Celsius(), 39.25);
  Zone(3, "xo-therm", "30000");
  EXPECT_EQ((*thermometer)->Celsius(), 38.5);
}

TEST_F(SysfsTest, SkipsZonesThatCannotBeReadOrAreAbsurd) {
  Zone(0, "skin", "");
  Zone(1, "skin2", "-274000");
  Zone(2, "quiet-therm", "nonsense");
  Write("sys/class/thermal/thermal_zone3/type", "shell");
  Zone(4, "battery", "31000");
  const auto thermometer = OpenSysfsThermometer(root());
  ASSERT_TRUE(thermometer) << thermometer.error().ToString();
  EXPECT_EQ((*thermometer)->Celsius(), 31);
}

TEST_F(SysfsTest, SaysWhichZonesThereAreWhenNoneWillDo) {
  Zone(0, "x86_pkg_temp", "60000");
  const auto refused = OpenSysfsThermometer(root());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_EQ(refused.error().got, "x86_pkg_temp");
  EXPECT_FALSE(OpenSysfsThermometer(root() / "nowhere"));
}

TEST_F(SysfsTest, FindsBigCoresByCapacity) {
  const int capacities[] = {325, 325, 870, 870, 1024};
  for (int i = 0; i < 5; ++i) Cpu(i, "cpu_capacity", capacities[i]);
  EXPECT_EQ(BigCores(root()), (std::vector{2, 3, 4}));
}

TEST_F(SysfsTest, FindsBigCoresByFrequency) {
  const int kilohertz[] = {2016000, 2016000, 2803200, 3360000};
  for (int i = 0; i < 4; ++i) Cpu(i, "cpufreq/cpuinfo_max_freq", kilohertz[i]);
  EXPECT_EQ(BigCores(root()), (std::vector{2, 3}));
}

TEST_F(SysfsTest, AllCoresAreBigWhenTheyAreAlikeAndNoneWhenNothingIsTold) {
  EXPECT_TRUE(BigCores(root()).empty());
  for (int i = 0; i < 2; ++i) Cpu(i, "cpu_capacity", 1024);
  EXPECT_EQ(BigCores(root()), (std::vector{0, 1}));
}

// Where each thread of a pool may run, and how nice it is.
struct Placement {
  int nice;
  int cpus;
};

Placement PlacementOfWorkers(ThreadPool& pool, const EngineOptions& options) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> nice{-1}, cpus{-1};
  for (int tries = 0; tries < 1000 && nice == -1; ++tries) {
    pool.ParallelFor(options.threads, 1, [&](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (std::this_thread::get_id() == caller) return;
      cpu_set_t set;
      sched_getaffinity(0, sizeof(set), &set);
      cpus = CPU_COUNT(&set);
      nice = getpriority(PRIO_PROCESS, 0);
    });
  }
  return {nice, cpus};
}

TEST_F(SysfsTest, WorkersAreNicerThanTheirCallerAndStayOnBigCores) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  for (int i = 0; i <= first; ++i) Cpu(i, "cpu_capacity", i == first ? 1024 : 300);
  const int before = getpriority(PRIO_PROCESS, 0);
  const EngineOptions options{.threads = 2, .worker_nice = 19, .big_cores = true};
  const auto pool = NewThreadPool(options, root());
  ASSERT_TRUE(pool);
  const Placement workers = PlacementOfWorkers(**pool, options);
  EXPECT_EQ(workers.nice, 19);
  EXPECT_EQ(workers.cpus, 1);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
  cpu_set_t after;
  sched_getaffinity(0, sizeof(after), &after);
  EXPECT_TRUE(CPU_EQUAL(&allowed, &after));
  EXPECT_EQ((*NewThreadPool({.big_cores = true}, root()))->threads(), 1);
}

TEST_F(SysfsTest, RefusesNiceValuesOutOfRange) {
  EXPECT_EQ(NewThreadPool({.worker_nice = -1}, root()).error().code, Code::kUsage);
  EXPECT_EQ(NewThreadPool({.worker_nice = 20}, root()).error().code, Code::kUsage);
  EXPECT_EQ(NewThreadPool({.threads = -1}, root()).error().code, Code::kUsage);
}

}  // namespace
}  // namespace hexlane
