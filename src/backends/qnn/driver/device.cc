#include "backends/qnn/driver/device.h"

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/log.h"
#include "backends/qnn/driver/silence.h"

namespace hexlane::qnn {

Result<std::shared_ptr<const Device>> Device::Create(std::shared_ptr<const Library> library,
                                                     uint32_t soc) {
  StdoutSilencer silence;
  RecentLog().Clear();
  std::shared_ptr<Device> device(new Device(std::move(library)));
  const abi::Functions& fn = device->fn();
  TRY(CheckStatus(fn.LogCreate(OnLibraryLog, abi::LogLevel::kError, &device->log_),
                  "the HTP library does not start"));
  TRY(CheckStatus(fn.BackendCreate(device->log_, nullptr, &device->backend_),
                  "cannot create the QNN backend"));
  abi::HtpDeviceConfig htp;
  htp.soc = soc;
  abi::Config config;
  config.custom = &htp;
  const abi::Config* configs[] = {soc ? &config : nullptr, nullptr};
  if (abi::Status status = fn.DeviceCreate(device->log_, configs, &device->device_); status != 0)
    return VendorFailure(status, fmt::format("cannot create an HTP device for SoC {}", soc));
  return device;
}

Device::~Device() {
  StdoutSilencer silence;
  if (device_) fn().DeviceFree(device_);
  if (backend_) fn().BackendFree(backend_);
  if (log_) fn().LogFree(log_);
}

}  // namespace hexlane::qnn
