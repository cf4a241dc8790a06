#include "backends/qnn/driver/context.h"

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/log.h"
#include "backends/qnn/driver/silence.h"
#include "base/memory.h"

namespace hexlane::qnn {
namespace {
constexpr uint32_t kShareWeights = 1;
constexpr uint32_t kPrepareOnly = 7;
}  // namespace

Result<std::shared_ptr<const Context>> Context::Create(std::shared_ptr<const Device> device,
                                                       const ContextOptions& options) {
  StdoutSilencer silence;
  RecentLog().Clear();
  std::shared_ptr<Context> context(new Context(std::move(device)));
  abi::HtpContextConfig htp[2];
  abi::Config config[2];
  const abi::Config* configs[3] = {};
  int count = 0;
  auto set = [&](uint32_t option) {
    htp[count].option = option;
    htp[count].on = true;
    config[count].custom = &htp[count];
    configs[count] = &config[count];
    ++count;
  };
  if (options.share_weights) set(kShareWeights);
  if (options.prepare_only) set(kPrepareOnly);
  const Device& on = *context->device_;
  TRY(CheckStatus(on.fn().ContextCreate(on.backend(), on.handle(), configs, &context->context_),
                  "cannot create a QNN context"));
  return context;
}

Result<std::shared_ptr<const Context>> Context::Load(std::shared_ptr<const Device> device,
                                                     std::span<const std::byte> binary) {
  StdoutSilencer silence;
  RecentLog().Clear();
  std::shared_ptr<Context> context(new Context(std::move(device)));
  const Device& on = *context->device_;
  TRY(CheckStatus(on.fn().ContextCreateFromBinary(on.backend(), on.handle(), nullptr, binary.data(),
                                                  binary.size(), &context->context_, nullptr),
                  "cannot load a QNN context binary"));
  return context;
}

Context::~Context() {
  StdoutSilencer silence;
  if (context_) fn().ContextFree(context_, nullptr);
}

Result<std::vector<std::byte>> Context::Serialize() const {
  StdoutSilencer silence;
  RecentLog().Clear();
  uint64_t size = 0;
  TRY(CheckStatus(fn().ContextGetBinarySize(context_, &size),
                  "cannot learn the size of a QNN context binary"));
  ReleaseFreeMemory();  // learning the size took as much again as the binary
  std::vector<std::byte> bytes(size);
  uint64_t written = 0;
  TRY(CheckStatus(fn().ContextGetBinary(context_, bytes.data(), bytes.size(), &written),
                  "cannot serialise a QNN context"));
  if (written > bytes.size()) return Vendor("the QNN context binary outgrew its own size");
  bytes.resize(written);
  return bytes;
}

}  // namespace hexlane::qnn
