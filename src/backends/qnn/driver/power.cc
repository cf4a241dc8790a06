#include "backends/qnn/driver/power.h"

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/silence.h"

namespace hexlane::qnn {
namespace {

using abi::Corner;

struct Vote {
  bool scale;  // whether the DSP may change its clock by load
  Corner corner;
  uint32_t sleep_latency;  // microseconds
  uint32_t rpc_polling;    // microseconds that a call's end is polled for before sleeping; ≤ 10000
};

// Corners, latencies and polling of ONNX Runtime's modes of these names. kReleased is its "extreme
// power saver": no corner at all.
constexpr Vote kVotes[kPowerModes] = {{false, Corner::kMax, 40, 9999},
                                      {false, Corner::kTurbo, 100, 9999},
                                      {true, Corner::kNominalPlus, 1000, 0},
                                      {true, Corner::kSvs, 1000, 0},
                                      {true, Corner::kDisable, 2000, 0}};
constexpr uint32_t kRpcLatency = 100;        // microseconds, while there is work
constexpr uint32_t kRpcLatencyReleased = 0;  // no wish
constexpr uint32_t kDevice = 0, kCore = 0;

abi::DcvsV3 ToDcvs(PowerMode mode, uint32_t id) {
  const Vote& vote = kVotes[static_cast<size_t>(mode)];
  const abi::Corners corners{1, vote.corner, vote.corner, vote.corner};
  const bool thrifty = mode == PowerMode::kReleased;
  return {.id = id,
          .set_enable = 1,
          .enable = vote.scale,
          .mode = thrifty ? abi::DcvsMode::kPowerSaver : abi::DcvsMode::kPerformance,
          .set_sleep_latency = 1,
          .sleep_latency = vote.sleep_latency,
          .bus = corners,
          .core = corners};
}

}  // namespace

Result<std::unique_ptr<HtpPower>> HtpPower::Create(const abi::PowerInfrastructure& calls) {
  if (calls.type != 0 || !calls.CreateId || !calls.DestroyId || !calls.SetConfig)
    return Unsupported("the QNN library has no power votes here")
        .Remedy("Only a phone's HTP has them");
  uint32_t id = 0;
  if (const abi::Status status = calls.CreateId(kDevice, kCore, &id); status != 0)
    return Unsupported("the HTP takes no power votes here").Got("{}", Describe(status));
  return std::unique_ptr<HtpPower>(new HtpPower(calls, id));
}

Result<std::unique_ptr<HtpPower>> HtpPower::Create(std::shared_ptr<const Device> device) {
  const StdoutSilencer silence;
  const abi::PowerInfrastructure* calls = nullptr;
  const auto get = device->fn().DeviceGetInfrastructure;
  const abi::Status status = get ? get(&calls) : 0;
  if (status != 0)
    return Unsupported("the QNN library has no power votes here").Got("{}", Describe(status));
  auto power = TRY(Create(calls ? *calls : abi::PowerInfrastructure()));
  power->device_ = std::move(device);
  return power;
}

HtpPower::~HtpPower() {
  if (mode_ && mode_ != PowerMode::kReleased) (void)Set(PowerMode::kReleased);
  calls_.DestroyId(id_);
}

Result<void> HtpPower::Set(PowerMode mode) {
  const std::lock_guard lock(mutex_);
  if (mode == mode_) return {};
  const abi::PowerConfig dcvs(ToDcvs(mode, id_));
  const abi::PowerConfig* votes[] = {&dcvs, nullptr};
  TRY(CheckStatus(calls_.SetConfig(id_, votes), "cannot set the HTP's power mode"));
  mode_ = mode;
  // By themselves: V68 and older firmware refuse polling, which costs speed only.
  const bool released = mode == PowerMode::kReleased;
  const abi::PowerConfig latency(abi::PowerOption::kRpcLatency,
                                 released ? kRpcLatencyReleased : kRpcLatency);
  const abi::PowerConfig polling(abi::PowerOption::kRpcPolling,
                                 kVotes[static_cast<size_t>(mode)].rpc_polling);
  const abi::PowerConfig* rpc[] = {&latency, &polling, nullptr};
  calls_.SetConfig(id_, rpc);
  return {};
}

}  // namespace hexlane::qnn
