// A LLaMA's shape, its tensors, and how the weights of each are distributed.
#ifndef HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_SHAPE_H_
#define HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hexlane/status.h"

namespace hexlane::synthetic {

// The defaults are LLaMA-7B's (Touvron et al. 2023).
struct ModelShape {
  int64_t layers = 32;
  int64_t hidden = 4096;
  int64_t ffn = 11008;
  int64_t heads = 32;
  int64_t kv_heads = 32;
  int64_t vocab = 32000;
  int64_t max_context = 4096;
  bool tied = false;  // the head is the embedding table

  int64_t head_dim() const { return hidden / heads; }
};

// kUsage for a shape that no LLaMA has.
Result<void> CheckShape(const ModelShape& shape);

// w[r, c] = column_gain[c] * (center + deviation * row_gain[r] * noise). Gains are log-normal
// around 1; those of a few rows and columns are the outlier factors instead.
struct Distribution {
  double center = 0;
  double deviation = 0;
  double row_spread = 0;  // standard deviation of log row_gain
  double column_spread = 0;
  double outlier_row = 1;  // 1: none
  double outlier_column = 1;
  // The outlier rows or columns are those of the residual stream, the same in every tensor.
  bool residual_rows = false;
  bool residual_columns = false;
};

struct TensorPlan {
  std::string name;  // as transformers names it
  int64_t rows = 0;  // 0: a vector of `columns`
  int64_t columns = 0;
  Distribution distribution;

  int64_t elements() const { return (rows ? rows : 1) * columns; }
};

// In the order of the file.
std::vector<TensorPlan> PlanTensors(const ModelShape& shape);

}  // namespace hexlane::synthetic

#endif  // HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_SHAPE_H_
