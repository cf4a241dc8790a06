#include "backends/qnn/io/stage_io.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/qnn/driver/values.h"

namespace hexlane::qnn {
namespace {

// Bytes of a tensor whose values are all zero.
std::vector<std::byte> Zeros(const TensorSpec& spec) {
  std::vector<std::byte> bytes(spec.bytes());
  const std::vector<float> zeros(static_cast<size_t>(spec.shape.elements()));
  if (EncodingOf(spec)) EncodeValues(spec, zeros, bytes);
  return bytes;
}

}  // namespace

StageIo::StageIo(const Contract& contract, const GraphContract& graph)
    : contract_(contract), graph_(graph) {
  for (const BoundTensor& tensor : graph.inputs) {
    const bool cache = tensor.role == Role::kPastKey || tensor.role == Role::kPastValue;
    inputs_.push_back(cache ? Zeros(tensor.info.spec)
                            : std::vector<std::byte>(tensor.info.spec.bytes()));
  }
  for (const BoundTensor& tensor : graph.outputs) outputs_.emplace_back(tensor.info.spec.bytes());
  in_spans_.assign(inputs_.begin(), inputs_.end());
  out_spans_.assign(outputs_.begin(), outputs_.end());
}

Result<void> StageIo::Fill(const Step& step) {
  CHECK(step.rows >= 1 && step.rows <= graph_.rows && step.past_len <= graph_.past());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const BoundTensor& tensor = graph_.inputs[i];
    const int32_t last_row = step.rows - 1;
    switch (tensor.role) {
      case Role::kCos:
      case Role::kSin: FillRope(i, tensor.role == Role::kCos, step.past_len); break;
      case Role::kMask: FillMask(i, step); break;
      case Role::kLastRow: std::memcpy(inputs_[i].data(), &last_row, sizeof last_row); break;
      case Role::kHidden: {
        const size_t row = static_cast<size_t>(tensor.info.spec.shape.last());
        if (step.hidden.size() != row * static_cast<size_t>(step.rows))
          return InvalidInput("hidden state of the wrong size")
              .At("graph {}", graph_.name)
              .Want("{}", row * step.rows)
              .Got("{}", step.hidden.size());
        scratch_.assign(row * static_cast<size_t>(graph_.rows), 0.0f);
        std::copy(step.hidden.begin(), step.hidden.end(), scratch_.begin());
        EncodeValues(tensor.info.spec, scratch_, inputs_[i]);
        break;
      }
      case Role::kIds: TRY(FillIds(i, step)); break;
      default: break;
    }
  }
  return {};
}

Result<void> StageIo::FillIds(size_t i, const Step& step) {
  if (step.ids.size() != static_cast<size_t>(step.rows)) {
    return InvalidInput("tokens are missing")
        .At("graph {}", graph_.name)
        .Want("{}", step.rows)
        .Got("{}", step.ids.size());
  }
  std::memcpy(inputs_[i].data(), step.ids.data(), step.ids.size_bytes());
  return {};
}

// cos or sin of position · inv_freq, row by row.
void StageIo::FillRope(size_t i, bool cosine, int64_t past_len) {
  const BoundTensor& tensor = graph_.inputs[i];
  const RopeTable& table = contract_.ropes[static_cast<size_t>(tensor.index)];
  scratch_.clear();
  for (int row = 0; row < graph_.rows; ++row)
    for (const float frequency : table.inv_freq) {
      const double angle = static_cast<double>(past_len + row) * frequency;
      scratch_.push_back(table.scale *
                         static_cast<float>(cosine ? std::cos(angle) : std::sin(angle)));
    }
  EncodeValues(tensor.info.spec, scratch_, inputs_[i]);
}

// Columns: the cache's capacity, of which past_len are filled, then the new rows. A padding row
// sees what a valid row in its place would: its softmax stays finite.
void StageIo::FillMask(size_t i, const Step& step) {
  const BoundTensor& tensor = graph_.inputs[i];
  const Mask& mask = contract_.masks[static_cast<size_t>(tensor.index)];
  const int64_t past = graph_.past();
  scratch_.assign(static_cast<size_t>(graph_.rows) * graph_.context, mask.hidden);
  for (int64_t row = 0; row < graph_.rows; ++row) {
    const int64_t position = step.past_len + row;
    const int64_t first = mask.window > 0 ? std::max<int64_t>(0, position - mask.window + 1) : 0;
    float* columns = &scratch_[static_cast<size_t>(row * graph_.context)];
    for (int64_t p = first; p < step.past_len; ++p) columns[p] = 0;
    for (int64_t p = std::max(first, step.past_len); p <= position; ++p)
      columns[past + p - step.past_len] = 0;
  }
  EncodeValues(tensor.info.spec, scratch_, inputs_[i]);
}

void StageIo::Read(size_t i, int rows, std::span<float> values) const {
  const TensorSpec& spec = graph_.outputs[i].info.spec;
  const size_t count = static_cast<size_t>(rows) * static_cast<size_t>(spec.shape.last());
  CHECK(values.size() == count && count <= static_cast<size_t>(spec.shape.elements()));
  DecodeValues(spec, std::span(outputs_[i]).first(count * ElementBytes(spec.type)), values);
}

std::optional<size_t> StageIo::main_output() const {
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const Role role = graph_.outputs[i].role;
    if (role == Role::kHidden || role == Role::kLogits) return i;
  }
  return std::nullopt;
}

}  // namespace hexlane::qnn
