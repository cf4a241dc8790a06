// A QNN context: a set of finalised graphs, as one binary.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_CONTEXT_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_CONTEXT_H_

#include <memory>
#include <span>
#include <vector>

#include "backends/qnn/driver/device.h"

namespace hexlane::qnn {

struct ContextOptions {
  bool share_weights =
      false;  // store equal weights of several graphs once. Such a binary loads on phones only.
  bool prepare_only = false;  // the graphs will be serialised, not executed
};

class Context {
 public:
  // An empty context, for GraphBuilder.
  static Result<std::shared_ptr<const Context>> Create(std::shared_ptr<const Device> device,
                                                       const ContextOptions& options = {});
  // From Serialize()'s bytes, which need not outlive the call. The library does not notice flipped
  // bytes or another SoC's binary: verify a checksum and the SoC before.
  static Result<std::shared_ptr<const Context>> Load(std::shared_ptr<const Device> device,
                                                     std::span<const std::byte> binary);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The binary. Every graph of the context must be finalised.
  Result<std::vector<std::byte>> Serialize() const;

  const Device& device() const { return *device_; }
  const abi::Functions& fn() const { return device_->fn(); }
  abi::Handle handle() const { return context_; }

 private:
  explicit Context(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  std::shared_ptr<const Device> device_;
  abi::Handle context_ = nullptr;
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_CONTEXT_H_
