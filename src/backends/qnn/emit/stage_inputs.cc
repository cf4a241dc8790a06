// The inputs that all layers of a stage share: masks and rotary tables.
#include "backends/qnn/driver/values.h"
#include "backends/qnn/emit/lowering.h"

namespace hexlane::qnn {
namespace {

// f16: far below any score, and far from the type's end.
constexpr float kFloatMaskDepth = 30000;

}  // namespace

Result<Ref> Lowering::MaskInput(int64_t window, bool is_float) {
  const auto found = masks_.find(window);
  if (found != masks_.end()) return found->second;
  const int index = static_cast<int>(masks_.size());
  const float depth = is_float ? kFloatMaskDepth : options_.mask_depth;
  const Shape shape = {1, 1, options_.shape.rows, options_.shape.context};
  TensorSpec spec = {DataType::kF16, shape, {}};
  if (!is_float) spec = {DataType::kUFixed16, shape, PerTensor{depth / 65535, -65535}};
  const std::string name = index ? fmt::format("attention_mask_{}", index) : "attention_mask";
  const Ref mask = TRY(AddInput(spec, name, {Role::kMask, index, "", {}}));
  if (static_cast<int>(contract_.masks.size()) == index)
    contract_.masks.push_back({window, -depth});
  masks_[window] = mask;
  return mask;
}

Result<Lowering::RopeInputs> Lowering::RopeTables(const Value& inv_freq, float scale,
                                                  bool is_float) {
  const std::string key = fmt::format("{}*{}", inv_freq.name, scale);
  const auto found = ropes_.find(key);
  if (found != ropes_.end()) return found->second;
  const int index = static_cast<int>(ropes_.size());
  const std::span<const float> frequencies = inv_freq.constant->floats();
  if (static_cast<int>(contract_.ropes.size()) == index)
    contract_.ropes.push_back({{frequencies.begin(), frequencies.end()}, scale});
  const RopeInputs tables =
      TRY(NewRopeTables(index, static_cast<int64_t>(frequencies.size()), scale, is_float));
  ropes_[key] = tables;
  return tables;
}

// Inputs of half a head each; doubled once for all layers. 16 bits: 2^-15 steps around zero.
Result<Lowering::RopeInputs> Lowering::NewRopeTables(int index, int64_t half, float scale,
                                                     bool is_float) {
  const Shape shape = {1, 1, options_.shape.rows, half};
  TensorSpec spec = {DataType::kF16, shape, {}};
  if (!is_float) spec = {DataType::kUFixed16, shape, PerTensor{scale / 32767, -32768}};
  const std::string suffix = index ? fmt::format("_{}", index) : "";
  const Ref cos = TRY(AddInput(spec, "position_ids_cos" + suffix, {Role::kCos, index, "", {}}));
  const Ref sin = TRY(AddInput(spec, "position_ids_sin" + suffix, {Role::kSin, index, "", {}}));
  TensorSpec minus_one = spec;
  minus_one.shape = {1, 1, 1, 1};
  if (!is_float) minus_one.quant = PerTensor{1.0f / 32767, -32768};
  const Ref sign = TRY(builder_.Constant("rope" + suffix + ".minus_one", minus_one,
                                         Encoded(minus_one, std::vector<float>{-1})));
  const Ref negative = TRY(builder_.Add({.type = "ElementWiseMultiply",
                                         .name = "rope" + suffix + ".minus_sin",
                                         .inputs = {sin, sign},
                                         .out = spec}));
  TensorSpec whole = spec;
  whole.shape = {1, 1, options_.shape.rows, 2 * half};
  const auto doubled = [&](Ref left, Ref right, const char* name) {
    return builder_.Add({.type = "Concat",
                         .name = "rope" + suffix + name,
                         .inputs = {left, right},
                         .params = {{"axis", 3u}},
                         .out = whole});
  };
  return RopeInputs{TRY(doubled(cos, cos, ".cos")), TRY(doubled(negative, sin, ".sin"))};
}

}  // namespace hexlane::qnn
