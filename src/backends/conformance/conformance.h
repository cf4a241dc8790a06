// What every executor must do alike, whatever it runs on. An executor's tests call Conformance and
// expect no complaints.
#ifndef HEXLANE_BACKENDS_CONFORMANCE_CONFORMANCE_H_
#define HEXLANE_BACKENDS_CONFORMANCE_CONFORMANCE_H_

#include <string>
#include <vector>

#include "backends/executor.h"

namespace hexlane {

struct ConformanceSubject {
  const Executor* executor = nullptr;
  const Package* package = nullptr;
  const Variant* variant = nullptr;
  const Part* part = nullptr;
  // Largest difference that is still "the same", relative to the largest value: 0 where rows are
  // computed alike whatever the stage, a few steps of the activations' encoding otherwise.
  float tolerance = 0;
  int tokens = 6;  // of the test sequence, at least 4 and within the context
};

// One line for each violated rule, starting with the rule's name:
//   stages    a sequence run through any stage and by single rows gives the same last row
//   past      the result depends on the rows before it
//   rewind    running again from an earlier position gives the same as the first time
//   padding   what unused rows of a larger stage leave behind is never seen
//   states    two states do not disturb each other
//   refusal   arguments that do not fit are kInvalidInput, and change nothing
//   release   what was given back comes again with the next run, and the state has not noticed
//   all       all_logits gives every row, the last one as without (or is kUnsupported)
std::vector<std::string> Conformance(const ConformanceSubject& subject);

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_CONFORMANCE_CONFORMANCE_H_
