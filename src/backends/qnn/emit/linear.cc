// Linear as a 1×1 convolution, which takes f16, per-channel (8 or 4 bits) and LPBQ weights; 4-bit
// blocks with f16 activations as a FullyConnected, affine ones on q-8 plus a correction by block
// sums (docs/qnn.md, "Asymmetric 4-bit blocks"). 3 bits are given as 4.
#include "backends/qnn/driver/values.h"
#include "backends/qnn/emit/ops.h"
#include "backends/qnn/emit/weights.h"
#include "base/transposed.h"
#include "kernels/pack/pack.h"

namespace hexlane::qnn {
namespace {

constexpr uint32_t kSmallBits = 4;  // what the HTP has below 8

struct LinearLowering {
  Lowering& lowering;
  const Node& node;
  const std::string& name;
  const Value& weight;
  int64_t n, k;
  bool in_float;  // computes in f16
  Ref x;          // in f16 then
  bool in_bytes;  // computes in 8 bits

  GraphBuilder& builder() { return lowering.builder(); }
  ValueId out() const { return node.outputs[0]; }
  TensorSpec OutSpec(Shape shape) const {
    if (in_float) return {DataType::kF16, shape, {}};
    return in_bytes ? SpecOf(lowering.encoding(out()), shape) : lowering.ComputeSpec(out(), shape);
  }

  // A constant bias: f16, or 32 bits at the accumulator's scale of each channel.
  Result<std::optional<Ref>> Bias(std::span<const ScaleOffset> channel_scales) {
    if (node.inputs.size() < 3) return std::nullopt;
    const std::vector<float> bias = ConstantFloats(lowering.unit().value(node.inputs[2]));
    if (in_float) {
      const TensorSpec spec = {DataType::kF16, {n}, {}};
      return TRY(builder().Constant(name + ".bias", spec, Encoded(spec, bias)));
    }
    const auto x_scale = std::get<PerTensor>(builder().spec(x).quant).scale;
    PerChannel quant{0, {}};
    std::vector<int32_t> q;
    for (size_t i = 0; i < bias.size(); ++i) {
      const float scale = x_scale * channel_scales[i].scale;
      quant.scales.push_back({scale, 0});
      q.push_back(static_cast<int32_t>(std::lrint(bias[i] / scale)));
    }
    return TRY(builder().Constant(name + ".bias", {DataType::kSFixed32, {n}, quant}, q));
  }

  // Rows lie along the width, except 16 of them: there the library (QNN 2.51) computes garbage from
  // 16-bit activations, and 4 × 4 is right.
  Shape Image(int64_t channels) const {
    if (lowering.rows() == 16) return {1, 4, 4, channels};
    return lowering.RowsShape(channels);
  }

  Result<void> Conv(Ref filter, std::span<const ScaleOffset> channel_scales) {
    std::vector<Ref> inputs = {TRY(lowering.Reshape(x, Image(k), name + ".image")), filter};
    if (const std::optional<Ref> bias = TRY(Bias(channel_scales))) inputs.push_back(*bias);
    const Ref y = TRY(
        builder().Add({.type = "Conv2d",
                       .name = name,
                       .inputs = inputs,
                       .params = {{"stride", IntArray{DataType::kU32, {2}, {1, 1}}},
                                  {"pad_amount", IntArray{DataType::kU32, {2, 2}, {0, 0, 0, 0}}}},
                       .out = OutSpec(Image(n))}));
    return lowering.SetValue(out(), y);
  }

  Result<void> Plain() {
    const Ref filter = TRY(builder().Constant(name + ".weight", {DataType::kF16, {1, 1, k, n}, {}},
                                              TransposedF16(weight)));
    return Conv(filter, {});
  }

  // One scale per channel, or integer block scales.
  // `q` is [k, n]; of `matrix` only the scales count.
  Result<void> Integer(const QuantizedMatrix& matrix, const std::vector<int8_t>& q) {
    std::vector<ScaleOffset> channels;
    for (const float scale : matrix.scales) channels.push_back({scale, 0});
    const SchemeInfo& info = Info(matrix.scheme);
    Quant quant = PerChannel{3, channels};
    if (info.bits < 8) quant = PerChannelBits{kSmallBits, 3, matrix.scales};
    if (info.scale == ScaleKind::kInteger)
      quant = Lpbq{3, static_cast<uint32_t>(matrix.blocks()), channels, matrix.block_scales};
    const Ref filter =
        TRY(builder().Constant(name + ".weight", {DataType::kSFixed8, {1, 1, k, n}, quant}, q));
    return Conv(filter, channels);
  }

  // 4-bit blocks with f16 activations: y = Σ d (q-8) x  +  Σ_blocks c · (sum of x over the block).
  // LPBQ, which HTP refuses with f16, has d = block scale · channel scale and no c.
  Result<void> FloatBlocks() {
    const int64_t block = Info(weight.constant->view().scheme).block;
    CentredBlocks blocks = Centre(UnpackConstant(weight));
    const TensorSpec spec = {DataType::kF16, {lowering.rows(), n}, {}};
    PerBlock quant{{1, static_cast<uint32_t>(block)}, std::move(blocks.scales)};
    const Ref q = TRY(builder().Constant(name + ".weight",
                                         {DataType::kSFixed8, {n, k}, std::move(quant)}, blocks.q));
    std::vector<Ref> inputs = {x, q};
    if (const std::optional<Ref> bias = TRY(Bias({}))) inputs.push_back(*bias);
    Ref y =
        TRY(builder().Add({.type = "FullyConnected", .name = name, .inputs = inputs, .out = spec}));
    if (blocks.c.empty()) return lowering.SetValue(out(), y);
    const Ref sums = TRY(lowering.BlockSums(x, block));
    const Ref c =
        TRY(builder().Constant(name + ".c", {DataType::kF16, {n, k / block}, {}}, blocks.c));
    const Ref correction = TRY(builder().Add({.type = "FullyConnected",
                                              .name = name + ".correction",
                                              .inputs = {sums, c},
                                              .out = spec}));
    y = TRY(builder().Add(
        {.type = "ElementWiseAdd", .name = name + ".sum", .inputs = {y, correction}, .out = spec}));
    return lowering.SetValue(out(), y);
  }
};

// Whether blocks are held as they are with f16 activations (FloatBlocks); 8-bit ones become 8 bits
// per channel.
bool IsFloatBlocks(const SchemeInfo& info) { return info.block != 0 && info.bits < 8; }

// Of k columns.
Reason RefuseScheme(Scheme scheme, int64_t k, bool is_float, const Target& target) {
  const SchemeInfo& info = Info(scheme);
  if (info.block == 0) return std::nullopt;
  if (!is_float && info.scale != ScaleKind::kInteger)
    return fmt::format("{} weights need f16 activations; the nearest for fixed-point ones is {}",
                       info.name, info.bits == 8 ? "w8-channel" : "w4-lpbq32");
  if (is_float && IsFloatBlocks(info) && target.arch < HtpArch::kV69)
    return "4-bit blocks with f16 activations need HTP v69 or later";
  if (k % info.block == 0) return std::nullopt;
  const Scheme narrower = WithBlocksThatDivide(scheme, k);
  return fmt::format(
      "blocks of {} do not divide {} columns; the nearest that does is {}", info.block, k,
      narrower == scheme ? info.bits == 8 ? "w8-channel" : "w4-channel" : Info(narrower).name);
}

}  // namespace

Reason RefuseLinear(const Graph& unit, const Node& node, const Target& target) {
  const Value& weight = unit.value(node.inputs[1]);
  if (!weight.constant) return "its weight is not a constant";
  if (node.inputs.size() > 2 && !unit.value(node.inputs[2]).constant)
    return "its bias is not a constant";
  const bool is_float = IsFloat(unit.value(node.outputs[0])) || IsFloat(unit.value(node.inputs[0]));
  const Scheme scheme = weight.constant->view().scheme;
  if (scheme != Scheme::kPlain) return RefuseScheme(scheme, weight.shape[1], is_float, target);
  if (is_float) return std::nullopt;
  return "float weights need f16 activations";
}

Result<void> LowerLinear(Lowering& lowering, const Node& node) {
  const Value& weight = lowering.unit().value(node.inputs[1]);
  const ValueId in = node.inputs[0];
  const bool in_float = lowering.computes_in_float(node);
  const bool in_bytes = !in_float && lowering.is_bytes(in) && lowering.is_bytes(node.outputs[0]);
  const auto rows = [&] {
    if (in_float) return lowering.FloatRows(in);
    return in_bytes ? lowering.Rows(in) : lowering.WideRows(in);
  };
  LinearLowering linear{lowering,
                        node,
                        lowering.unit().NameOf(node),
                        weight,
                        weight.shape[0],
                        weight.shape[1],
                        in_float,
                        TRY(rows()),
                        in_bytes};
  const TensorView& packed = weight.constant->view();
  if (packed.scheme == Scheme::kPlain) return linear.Plain();
  const SchemeInfo& info = Info(packed.scheme);
  if (in_float && IsFloatBlocks(info)) return linear.FloatBlocks();
  if (info.scale == ScaleKind::kFloat && info.block != 0) {
    const QuantizedMatrix rounded = PerChannelInt8(UnpackConstant(weight));
    return linear.Integer(rounded, Transposed(rounded.q.data(), rounded.n, rounded.k));
  }
  return linear.Integer(UnpackScales(packed), UnpackTransposed(packed));
}

}  // namespace hexlane::qnn
