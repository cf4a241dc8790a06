// HTP's performance interface, behind deviceGetInfrastructure. Fields, values and the order of
// calls are facts that open-source users of the interface show (ONNX Runtime's QNN execution
// provider, htp_power_config_manager.cc; public bindings); no vendor header is used. The emulator's
// library takes them; no device has been asked (docs/power.md).
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_POWER_ABI_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_POWER_ABI_H_

#include <cstddef>
#include <cstdint>

namespace hexlane::qnn::abi {

enum class Corner : uint32_t {  // of voltage, and so of clock
  kDisable = 0x10,              // no vote
  kSvs2 = 0x30,
  kSvs = 0x40,
  kSvsPlus = 0x50,
  kNominal = 0x60,
  kNominalPlus = 0x70,
  kTurbo = 0x80,
  kMax = 0xa0,
};

enum class DcvsMode : uint32_t { kUpDown = 1, kPowerSaver = 4, kPerformance = 0x10 };

// Dynamic clock and voltage scaling. Each group counts only where its `set` is 1.
struct Corners {
  uint32_t set = 0;
  Corner min = Corner::kDisable;
  Corner target = Corner::kDisable;
  Corner max = Corner::kDisable;
};
struct DcvsV3 {
  uint32_t id = 0;  // of createPowerConfigId
  uint32_t set_enable = 0;
  uint32_t enable = 0;  // 0: stay at `target`
  DcvsMode mode = DcvsMode::kPerformance;
  uint32_t set_sleep_latency = 0;
  uint32_t sleep_latency = 0;  // microseconds that waking up may take: small keeps the DSP awake
  uint32_t set_sleep_disable = 0;
  uint32_t sleep_disable = 0;
  Corners bus;
  Corners core;
};

enum class PowerOption : uint32_t { kDcvsV3 = 1, kRpcLatency = 2, kRpcPolling = 3 };

struct PowerConfig {
  PowerOption option;
  union {
    DcvsV3 dcvs;
    uint32_t microseconds;
  };
  explicit PowerConfig(const DcvsV3& vote) : option(PowerOption::kDcvsV3), dcvs(vote) {}
  PowerConfig(PowerOption rpc, uint32_t us) : option(rpc), dcvs{} { microseconds = us; }
};

struct PowerInfrastructure {
  uint32_t type = 0;  // 0: the calls below
  uint64_t (*CreateId)(uint32_t device, uint32_t core, uint32_t* id) = nullptr;
  uint64_t (*DestroyId)(uint32_t id) = nullptr;
  // A NULL-terminated array.
  uint64_t (*SetConfig)(uint32_t id, const PowerConfig** configs) = nullptr;
  void* set_memory = nullptr;
};

static_assert(sizeof(DcvsV3) == 64);
static_assert(offsetof(DcvsV3, mode) == 12);
static_assert(offsetof(DcvsV3, sleep_latency) == 20);
static_assert(offsetof(DcvsV3, bus) == 32);
static_assert(offsetof(DcvsV3, core) == 48);
static_assert(sizeof(PowerConfig) == 68);
static_assert(offsetof(PowerConfig, dcvs) == 4);
static_assert(sizeof(PowerInfrastructure) == 40);
static_assert(offsetof(PowerInfrastructure, CreateId) == 8);
static_assert(offsetof(PowerInfrastructure, SetConfig) == 24);

}  // namespace hexlane::qnn::abi

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_POWER_ABI_H_
