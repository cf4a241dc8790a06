#include "runtime/steps.h"

#include <algorithm>

#include "base/check.h"

namespace hexlane {

int Capacity(std::span<const StageShape> stages) {
  int capacity = 0;
  for (const StageShape& stage : stages) capacity = std::max(capacity, stage.past() + 1);
  return capacity;
}

Step NextStep(std::span<const StageShape> stages, int64_t past_len, int64_t remaining,
              int worthwhile) {
  const StageShape* best = nullptr;
  for (const StageShape& stage : stages) {  // ascending rows, then context
    if (past_len > stage.past()) continue;
    const bool filled = remaining >= std::min(stage.rows, worthwhile);
    if (best == nullptr || (filled && stage.rows > best->rows)) best = &stage;
  }
  CHECK(best != nullptr);
  return {*best, static_cast<int>(std::min<int64_t>(remaining, best->rows))};
}

int WorthwhileRows(const Variant& variant) { return variant.soc.empty() ? 2 : 8; }

}  // namespace hexlane
