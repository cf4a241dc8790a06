#include "hexlane/engine_load.h"

#include <future>
#include <thread>

#include "package/package.h"
#include "runtime/variants.h"

namespace hexlane {

struct EngineLoad::Impl {
  std::atomic<bool> cancelled = false;
  std::shared_future<Result<std::shared_ptr<Engine>>> outcome;
  std::thread thread;
};

namespace {

// What needs no other file than the manifest.
Result<void> CheckManifest(const std::filesystem::path& package, const EngineOptions& options) {
  const Manifest manifest = TRY(ReadPackageManifest(package));
  TRY(SelectVariants(manifest.plan, options, DetectSoc()));
  return {};
}

}  // namespace

Result<std::unique_ptr<EngineLoad>> EngineLoad::Start(const std::filesystem::path& package,
                                                      const EngineOptions& options) {
  TRY(CheckManifest(package, options));
  auto impl = std::make_unique<Impl>();
  EngineOptions own = options;
  own.on_progress = [&cancelled = impl->cancelled,
                     told = options.on_progress](const LoadProgress& progress) {
    return !cancelled && (!told || told(progress));
  };
  std::packaged_task<Result<std::shared_ptr<Engine>>()> task(
      [package, own = std::move(own)] { return Engine::Open(package, own); });
  impl->outcome = task.get_future().share();
  impl->thread = std::thread(std::move(task));
  return std::unique_ptr<EngineLoad>(new EngineLoad(std::move(impl)));
}

EngineLoad::EngineLoad(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EngineLoad::~EngineLoad() {
  Cancel();
  impl_->thread.join();
}

void EngineLoad::Cancel() { impl_->cancelled = true; }

bool EngineLoad::done() const {
  return impl_->outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

Result<std::shared_ptr<Engine>> EngineLoad::Wait() { return impl_->outcome.get(); }

}  // namespace hexlane
