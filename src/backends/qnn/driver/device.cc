#include "backends/qnn/driver/device.h"

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/log.h"
#include "backends/qnn/driver/silence.h"

namespace hexlane::qnn {

Result<std::shared_ptr<const Device>> Device::Create(std::shared_ptr<const Library> library,
                                                     uint32_t soc, std::span<const int> archs) {
  StdoutSilencer silence;
  RecentLog().Clear();
  std::shared_ptr<Device> device(new Device(std::move(library)));
  const abi::Functions& fn = device->fn();
  TRY(CheckStatus(fn.LogCreate(OnLibraryLog, abi::LogLevel::kError, &device->log_),
                  "the HTP library does not start"));
  TRY(CheckStatus(fn.BackendCreate(device->log_, nullptr, &device->backend_),
                  "cannot create the QNN backend"));
  const abi::HtpDeviceConfig of_soc = {.soc = soc};
  const abi::Status status = device->Make(soc ? &of_soc : nullptr);
  if (status == 0) return device;
  Failure failure =
      VendorFailure(status, fmt::format("cannot create an HTP device for SoC {}", soc));
  std::string others;
  for (const int arch : archs) {
    const abi::HtpDeviceConfig of_arch = {.option = 1, .arch = static_cast<uint32_t>(arch)};
    const abi::Status again = device->Make(&of_arch);
    if (again == 0) return device;
    others += fmt::format("{}V{} {}", others.empty() ? "" : ", ", arch, again);
  }
  if (!others.empty())
    return std::move(failure).At("generations tried, with their codes: {}", others);
  return failure;
}

abi::Status Device::Make(const abi::HtpDeviceConfig* htp) {
  abi::Config config;
  config.custom = htp;
  const abi::Config* configs[] = {htp ? &config : nullptr, nullptr};
  return fn().DeviceCreate(log_, configs, &device_);
}

Device::~Device() {
  StdoutSilencer silence;
  if (device_) fn().DeviceFree(device_);
  if (backend_) fn().BackendFree(backend_);
  if (log_) fn().LogFree(log_);
}

}  // namespace hexlane::qnn
