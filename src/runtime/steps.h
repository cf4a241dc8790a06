// Which stage runs the next tokens.
#ifndef HEXLANE_RUNTIME_STEPS_H_
#define HEXLANE_RUNTIME_STEPS_H_

#include <cstdint>
#include <span>

#include "package/plan.h"

namespace hexlane {

struct Step {
  StageShape stage;
  int rows = 0;  // valid ones, ≤ stage.rows
};

// Positions that any sequence of steps can fill: past() + 1 of the stage that reaches furthest.
int Capacity(std::span<const StageShape> stages);

// The step for the first of `remaining` tokens at position `past_len`: the largest stage whose rows
// the tokens fill, or fill by at least `worthwhile` rows, with the smallest context that holds the
// past. 0 ≤ past_len < Capacity(stages), remaining ≥ 1.
Step NextStep(std::span<const StageShape> stages, int64_t past_len, int64_t remaining,
              int worthwhile);

// Rows from which one padded run is taken to be cheaper than single-row steps. The CPU computes
// only the valid rows and reads the weights once: two. A compiled graph computes all of its rows.
int WorthwhileRows(const Variant& variant);

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_STEPS_H_
