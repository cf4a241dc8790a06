#ifndef HEXLANE_BACKENDS_CPU_EMIT_TAPE_BUILDER_H_
#define HEXLANE_BACKENDS_CPU_EMIT_TAPE_BUILDER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/tape/tape.h"
#include "ir/graph.h"

namespace hexlane {

// Appends units to one tape, in their order; the first output of a unit is the input of the next.
class TapeBuilder {
 public:
  // Why this node cannot become a step, if so.
  static std::optional<std::string> Refuses(const Graph& unit, const Node& node);

  // kUnsupported names the node that has no step.
  Result<void> AddUnit(const Graph& unit);
  Result<Tape> Finish() &&;

 private:
  class Unit;  // the state of one AddUnit

  int Acquire(int64_t columns);
  void Release(int buffer) { free_[static_cast<size_t>(buffer)] = true; }

  Tape tape_;
  std::vector<bool> free_;  // by buffer
  std::string carried_;     // name of the value that the last unit left
  int carried_buffer_ = -1;
};

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_CPU_EMIT_TAPE_BUILDER_H_
