// One HTP device: a SoC of the emulator on a workstation, or the phone's own.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_DEVICE_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_DEVICE_H_

#include <memory>
#include <span>

#include "backends/qnn/driver/library.h"

namespace hexlane::qnn {

// Holds the library's log, backend and device handles and frees them in the order the library
// needs. Shared by the contexts made on it.
class Device {
 public:
  // `soc`: QNN's SoC number (57 = SM8650); 0 takes the SoC the process runs on (phones). When that
  // is refused, `archs` (HTP generations) are tried in their order; the error is then the first
  // one, with what each of the others said.
  static Result<std::shared_ptr<const Device>> Create(std::shared_ptr<const Library> library,
                                                      uint32_t soc,
                                                      std::span<const int> archs = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const abi::Functions& fn() const { return library_->fn(); }
  abi::Handle backend() const { return backend_; }
  abi::Handle handle() const { return device_; }

 private:
  explicit Device(std::shared_ptr<const Library> library) : library_(std::move(library)) {}
  abi::Status Make(const abi::HtpDeviceConfig* htp);
  std::shared_ptr<const Library> library_;
  abi::Handle log_ = nullptr;
  abi::Handle backend_ = nullptr;
  abi::Handle device_ = nullptr;
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_DEVICE_H_
