// Checkpoint to quantised units: build, calibrate, quantise and write one unit after the other.
#ifndef HEXLANE_COMPILER_QUANTISE_H_
#define HEXLANE_COMPILER_QUANTISE_H_

#include <functional>
#include <string>
#include <vector>

#include "backends/emitter.h"
#include "base/thread_pool.h"
#include "compiler/journal.h"
#include "hexlane/compiler.h"
#include "models/decoder.h"
#include "package/package.h"
#include "quant/report.h"
#include "quant/schemes.h"

namespace hexlane {

struct QuantiseArgs {
  const Decoder* decoder = nullptr;
  QuantOptions options;
  std::vector<std::vector<int32_t>>
      windows;  // calibration tokens; unused where the scheme needs none
  ThreadPool* pool = nullptr;
  const Journal* journal = nullptr;  // finished units, of this run or of a killed one
  Progress progress;                 // may be empty
  // Called with all units that are finished, whenever there are more of them; may be empty. The
  // source outlives the writer and does not see what comes later.
  std::function<void(const UnitSource& units)> finished;
};

struct QuantisedModel {
  Json reports = Json::array();  // of UnitReport, by unit
  std::vector<std::string> warnings;
  int64_t parameters = 0;  // tied weights once
  double bits = 0;         // of all of them as stored
  std::optional<FinetuneSummary> finetune;
};

// Whether the embedding table gets the scheme's `table`: it is not the head too, and where the
// scheme keeps stored integers it has none.
bool HasLoneTable(const Decoder& decoder, const QuantOptions& options);

// Weights and the units' graphs go to `writer`, whose weights are sealed afterwards. Goes on after
// the units that the journal knows and `writer` holds as they were recorded.
Result<QuantisedModel> QuantiseModel(const QuantiseArgs& args, PackageWriter& writer);

// What quantising takes, at its largest unit: the unit as it becomes and the activations of a
// window.
Result<size_t> QuantisingBytes(const UnitSource& units, const QuantOptions& options);

// Takes up the weights of all units of an earlier run and writes nothing: several processes may do
// so at a time. kNotFound or kCorrupt where a unit is not finished or not as it was recorded.
Result<void> TakeUpQuantised(const Journal& journal, int unit_count, PackageWriter& writer);

// A record that is there once quantising is finished, in the folder of the unfinished package.
std::filesystem::path LastQuantiseRecord(int unit_count);

// Units as just written, read back through the mapped weights. `writer` must outlive the source.
UnitSource UnitsOf(const PackageWriter& writer, int count);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_QUANTISE_H_
