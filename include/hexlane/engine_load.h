// Opening a package in the background, so that an app can show itself meanwhile:
//
//   auto load = TRY(EngineLoad::Start("model.hxl", options));   // milliseconds
//   …
//   auto engine = TRY(load->Wait());
#ifndef HEXLANE_ENGINE_LOAD_H_
#define HEXLANE_ENGINE_LOAD_H_

#include "hexlane/engine.h"

namespace hexlane {

class EngineLoad {
 public:
  // Reads the manifest; the rest is done by a thread of its own, which is where
  // options.on_progress is called. Errors of Engine::Open that the manifest tells.
  static Result<std::unique_ptr<EngineLoad>> Start(const std::filesystem::path& package,
                                                   const EngineOptions& options = {});
  ~EngineLoad();  // cancels and waits
  EngineLoad(const EngineLoad&) = delete;
  EngineLoad& operator=(const EngineLoad&) = delete;

  // From any thread. The load ends at the next file or part, with kCancelled.
  void Cancel();
  bool done() const;
  // Waits for the end; as Engine::Open. May be called again.
  Result<std::shared_ptr<Engine>> Wait();

 private:
  struct Impl;
  explicit EngineLoad(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hexlane

#endif  // HEXLANE_ENGINE_LOAD_H_
