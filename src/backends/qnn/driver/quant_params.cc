#include "backends/qnn/driver/quant_params.h"

#include <algorithm>

namespace hexlane::qnn {
namespace {

constexpr uint8_t kMaxBlockScale = 16;

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

Result<void> WantCount(std::string_view tensor, std::string_view what, int64_t want, size_t got) {
  if (want == static_cast<int64_t>(got)) return {};
  return InvalidInput("wrong number of {}", what).At("{}", tensor).Want("{}", want).Got("{}", got);
}

// Size of the dimension that an encoding's axis names; -1 when there is none.
int64_t AxisSize(const Shape& shape, int32_t axis) {
  return axis >= 0 && axis < shape.rank() ? shape[axis] : -1;
}

Result<void> CheckBlocks(const PerBlock& q, const Shape& shape, std::string_view tensor) {
  TRY(WantCount(tensor, "block sizes", shape.rank(), q.block.size()));
  int64_t blocks = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (q.block[i] == 0 || shape[i] % q.block[i] != 0)
      return InvalidInput("blocks of {} do not divide {} columns", q.block[i], shape[i])
          .At("{}", tensor);
    blocks *= shape[i] / q.block[i];
  }
  return WantCount(tensor, "block scales", blocks, q.scales.size());
}

Result<void> CheckLpbq(const Lpbq& q, const Shape& shape, std::string_view tensor) {
  const int64_t channels = AxisSize(shape, q.axis);
  TRY(WantCount(tensor, "channel scales", channels, q.scales.size()));
  TRY(WantCount(tensor, "block scales", channels * q.blocks, q.block_scales.size()));
  const auto [low, high] = std::minmax_element(q.block_scales.begin(), q.block_scales.end());
  if (low != q.block_scales.end() && *low >= 1 && *high <= kMaxBlockScale) return {};
  return InvalidInput("block scale out of range").At("{}", tensor).Want("1 to {}", kMaxBlockScale);
}

}  // namespace

Result<void> CheckQuant(const TensorSpec& spec, std::string_view tensor) {
  const Shape& shape = spec.shape;
  return std::visit(
      Overloaded{
          [](std::monostate) -> Result<void> { return {}; },
          [&](const PerTensor& q) -> Result<void> {
            if (q.scale > 0) return {};
            return InvalidInput("scale is not positive").At("{}", tensor).Got("{}", q.scale);
          },
          [&](const PerChannel& q) {
            return WantCount(tensor, "channel scales", AxisSize(shape, q.axis), q.scales.size());
          },
          [&](const PerChannelBits& q) {
            return WantCount(tensor, "channel scales", AxisSize(shape, q.axis), q.scales.size());
          },
          [&](const PerBlock& q) { return CheckBlocks(q, shape, tensor); },
          [&](const Lpbq& q) { return CheckLpbq(q, shape, tensor); }},
      spec.quant);
}

abi::QuantizeParams ToQuantizeParams(const Quant& quant, abi::BlockExpansion* expansion) {
  abi::QuantizeParams params;
  if (std::holds_alternative<std::monostate>(quant)) return params;
  params.definition = abi::Defined::kYes;
  std::visit(
      Overloaded{
          [](std::monostate) {},
          [&](const PerTensor& q) {
            params.encoding = abi::QuantEncoding::kScaleOffset;
            params.scale_offset = {q.scale, q.offset};
          },
          [&](const PerChannel& q) {
            params.encoding = abi::QuantEncoding::kAxis;
            params.axis = {q.axis, static_cast<uint32_t>(q.scales.size()), q.scales.data()};
          },
          [&](const PerChannelBits& q) {
            params.encoding = abi::QuantEncoding::kBitsAxis;
            params.bits_axis = {q.bits, q.axis,          static_cast<uint32_t>(q.scales.size()),
                                0,      q.scales.data(), nullptr};
          },
          [&](const PerBlock& q) {
            params.encoding = abi::QuantEncoding::kBlock;
            params.block = {q.block.data(), q.scales.data()};
          },
          [&](const Lpbq& q) {
            params.encoding = abi::QuantEncoding::kBlockExpansion;
            *expansion = {q.axis, 0, q.scales.data(), q.blocks, 4, 0, 0, q.block_scales.data()};
            params.expansion = expansion;
          }},
      quant);
  return params;
}

}  // namespace hexlane::qnn
