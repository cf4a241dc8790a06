// What every executor refuses before it runs.
#ifndef HEXLANE_BACKENDS_EXECUTOR_CHECK_H_
#define HEXLANE_BACKENDS_EXECUTOR_CHECK_H_

#include "backends/executor.h"

namespace hexlane {

// kInvalidInput unless: the stage is one of the variant's, 1 ≤ rows ≤ stage.rows, past_len fits the
// stage, ids are in the vocabulary, and every span has the size that RunArgs gives it.
Result<void> CheckRunArgs(const ModelShape& model, const Variant& variant, const Part& part,
                          const RunArgs& args);

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_EXECUTOR_CHECK_H_
