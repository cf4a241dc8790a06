// Runs the same tokens through one stage (float, quant, htp, cpu) and keeps what every unit gives.
#ifndef HEXLANE_COMPILER_STAGE_RUN_H_
#define HEXLANE_COMPILER_STAGE_RUN_H_

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "compiler/source.h"
#include "compiler/variant.h"
#include "hexlane/compiler.h"
#include "interp/interpreter.h"
#include "quant/observe/range_watch.h"

namespace hexlane {

// Of all positions and the units run: [unit][rows × dim]; the head's are the logits [rows × vocab].
using UnitValues = std::vector<std::vector<float>>;

// What the stages of one package run on; opened once and shared by verify, eval and dump.
class StageRunner {
 public:
  // kUsage where the source's SoC is not known or not one of the package's.
  static Result<std::unique_ptr<StageRunner>> Open(const ModelSource& source);
  ~StageRunner();

  int unit_count() const;                       // of the model
  int run_count() const { return run_count_; }  // of those, the first ones that are run
  bool has_logits() const { return run_count_ == unit_count(); }
  void LimitLayers(int layers) { run_count_ = layers + 1; }
  int vocab() const;
  int hidden() const;
  // The package; null when the source is a checkpoint.
  const Package* package() const { return package_.get(); }
  // kInvalidInput without a checkpoint, or with one that was changed since the package was made,
  // saying how to name one.
  Result<std::shared_ptr<const Decoder>> decoder();
  // The float stage's input files, as RecordsOf: those of the named checkpoint, or as the package
  // recorded them.
  Result<Json> CheckpointRecords();
  ThreadPool& pool() { return pool_; }

  // kUsage where the stage needs a package and there is none.
  Result<void> CheckHasPackage(Stage stage) const;
  // Of the stages float and quant.
  Result<UnitSource> Units(Stage stage);

  // Positions that a session of the package can hold; of a checkpoint, those it was trained for.
  int context() const;
  // kInvalidInput where ids are not in the vocabulary or too many for context().
  Result<void> CheckFits(std::span<const int32_t> ids) const;

  // `observer` sees every value of a stage that is interpreted: float and quant.
  Result<UnitValues> Run(Stage stage, std::span<const int32_t> ids, const Observer& observer = {});

  // For these tokens, in the quant stage of the package.
  RangeWatch WatchFor(const std::vector<std::vector<int32_t>>& windows) const;

  // The QNN graph run in memory before it was written, and the same read back from its file (where
  // all layers are run): must be equal.
  struct EmulatorRun {
    UnitValues in_memory;
    UnitValues reloaded;
  };
  Result<EmulatorRun> RunEmulator(std::span<const int32_t> ids);

  // A package whose QNN graphs give every unit's output and all logits, for the emulator; made
  // once, in a temporary folder that goes with the runner. `probe` may be null.
  // `positions`: that a session must be able to hold; the cache is made longer where the package's
  // own is too short.
  Result<std::filesystem::path> VerificationPackage(Probe* probe, int positions);

 private:
  explicit StageRunner(const ModelSource& source);
  // The checkpoint's, with hidden states in the basis of the package's.
  Result<UnitSource> FloatUnits();
  VariantArgs EmulatorVariant(const UnitSource& units, const Variant& compiled, int positions);
  Result<const Variant*> CompiledVariant() const;
  Result<void> CheckSoc() const;
  Result<void> MakeTemporary();
  Result<void> ProbeLayers(Probe& probe);
  Result<void> RunBetween(int first, int count, Probe& probe);
  Result<UnitValues> RunInterpreter(Stage stage, std::span<const int32_t> ids,
                                    const Observer& observer);
  Result<UnitValues> RunEngine(const std::filesystem::path& package, const std::string& backend,
                               std::span<const int32_t> ids);

  ModelSource source_;
  ThreadPool pool_;
  int run_count_ = 0;
  std::shared_ptr<const Package> package_;
  std::shared_ptr<const Decoder> decoder_;
  std::filesystem::path temporary_;  // removed with the runner; empty until used
  bool has_verification_package_ = false;
};

// Name under which stage outputs are reported: UnitOutputName, and "logits" for the head.
std::string UnitValueName(int unit, int unit_count);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_STAGE_RUN_H_
