// Every op the lowering uses, against float, on the real library.
#include <numeric>

#include "backends/qnn/driver/testing.h"

namespace hexlane::qnn {
namespace {

using Values = std::vector<float>;

// One op with one output, its inputs all run-time inputs "x0", "x1", …
struct OneOp {
  const char* type;
  std::vector<TensorSpec> inputs;
  TensorSpec out;
  std::vector<Param> params = {};
};

Values RunOp(const OneOp& op, const std::vector<Values>& values, uint32_t soc = 57) {
  GraphBuilder builder = MUST(GraphBuilder::Create(MUST(Context::Create(TestDevice(soc))), "g"));
  std::vector<Ref> inputs;
  std::map<std::string, Values> fed;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    inputs.push_back(MUST(builder.Input(name, op.inputs[i])));
    fed[name] = values[i];
  }
  const Ref out = MUST(builder.Output("y", op.out));
  MUST(builder.Add(
      {.type = op.type, .name = "op", .inputs = inputs, .params = op.params, .into = out}));
  CompiledGraph graph = MUST(std::move(builder).Finalize());
  return ExecuteOn(graph, fed)["y"];
}

// A linear layer with constant weights; `weight_shape` as the op wants it.
struct OneLinear {
  OneLinear(const char* type, TensorSpec x, TensorSpec w, TensorSpec y,
            std::vector<Param> params = {})
      : type(type), x(std::move(x)), w(std::move(w)), y(std::move(y)), params(std::move(params)) {}
  const char* type;
  TensorSpec x, w, y;
  std::vector<Param> params;
};

Values RunLinear(const OneLinear& op, const Values& x, std::span<const std::byte> w,
                 uint32_t soc = 57) {
  GraphBuilder builder = MUST(GraphBuilder::Create(MUST(Context::Create(TestDevice(soc))), "g"));
  const Ref in = MUST(builder.Input("x", op.x));
  const Ref weight = MUST(builder.Constant("w", op.w, w));
  const Ref out = MUST(builder.Output("y", op.y));
  MUST(builder.Add({.type = op.type,
                    .name = "layers.0.op",
                    .inputs = {in, weight},
                    .params = op.params,
                    .into = out}));
  CompiledGraph graph = MUST(std::move(builder).Finalize());
  return ExecuteOn(graph, {{"x", x}})["y"];
}

std::vector<Param> Conv1x1() {
  return {{"stride", IntArray{DataType::kU32, {2}, {1, 1}}},
          {"pad_amount", IntArray{DataType::kU32, {2, 2}, {0, 0, 0, 0}}}};
}

constexpr int kM = 4, kK = 64, kN = 96;

// y[m, n] = sum_k x[m, k] w[n, k]
Values Product(const Values& x, const Values& w, int m = kM, int k = kK, int n = kN) {
  Values y(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      y[i * n + j] = std::inner_product(&x[i * k], &x[i * k] + k, &w[j * k], 0.0f);
  return y;
}

Values Transposed(const Values& w, int rows, int columns) {
  Values t(w.size());
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) t[c * rows + r] = w[r * columns + c];
  return t;
}

std::vector<std::byte> Int8Bytes(const Values& values) {
  return Encoded({DataType::kSFixed8, {}, PerTensor{}}, values);
}

// Integer weights q [n, k] in [-limit, limit].
Values Codes(int limit, uint32_t seed) {
  Values q = Random(kN * kK, static_cast<float>(limit) + 0.49f, seed);
  for (float& value : q) value = std::nearbyint(value);
  return q;
}

float MaxAbs(const Values& values) {
  float max = 0;
  for (float value : values) max = std::max(max, std::abs(value));
  return max;
}

class EverySoc : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Soc, EverySoc, testing::Values(36, 43, 57, 69, 87));

TEST_P(EverySoc, Conv2dF16) {
  const Values x = Random(kM * kK, 1, 1), w = Random(kN * kK, 1, 2);
  const TensorSpec weight = Half({1, 1, kK, kN});
  const Values y =
      RunLinear({"Conv2d", Half({1, 1, kM, kK}), weight, Half({1, 1, kM, kN}), Conv1x1()}, x,
                Encoded(weight, Transposed(w, kN, kK)), GetParam());
  EXPECT_GT(Snr(Product(x, w), y), 60);
}

TEST_P(EverySoc, Conv2dInt8PerChannel) {
  const Values x = Random(kM * kK, 1, 1), q = Codes(127, 3);
  PerChannel quant{3, {}};
  Values w = q;
  for (int n = 0; n < kN; ++n) {
    const float scale = 0.01f + 0.0001f * n;
    quant.scales.push_back({scale, 0});
    for (int k = 0; k < kK; ++k) w[n * kK + k] *= scale;
  }
  const Values want = Product(x, w);
  const Values y = RunLinear({"Conv2d",
                              Fixed(16, {1, 1, kM, kK}, 1),
                              {DataType::kSFixed8, {1, 1, kK, kN}, quant},
                              Fixed(16, {1, 1, kM, kN}, MaxAbs(want)),
                              Conv1x1()},
                             x, Int8Bytes(Transposed(q, kN, kK)), GetParam());
  EXPECT_GT(Snr(want, y), GetParam() == 36 ? 50 : 75);
}

TEST_P(EverySoc, Conv2dLpbq) {
  const Values x = Random(kM * kK, 1, 1), q = Codes(7, 4);
  Lpbq quant{3, kK / 32, {}, {}};
  Values w = q;
  for (int n = 0; n < kN; ++n) {
    const float scale = 0.01f + 0.0001f * n;
    quant.scales.push_back({scale, 0});
    for (int b = 0; b < kK / 32; ++b) {
      quant.block_scales.push_back(static_cast<uint8_t>(1 + (n + b) % 16));
      for (int k = 32 * b; k < 32 * b + 32; ++k) w[n * kK + k] *= scale * quant.block_scales.back();
    }
  }
  const Values want = Product(x, w);
  const Values y = RunLinear({"Conv2d",
                              Fixed(16, {1, 1, kM, kK}, 1),
                              {DataType::kSFixed8, {1, 1, kK, kN}, quant},
                              Fixed(16, {1, 1, kM, kN}, MaxAbs(want)),
                              Conv1x1()},
                             x, Int8Bytes(Transposed(q, kN, kK)), GetParam());
  EXPECT_GT(Snr(want, y), GetParam() == 36 ? 50 : 75);
}

TEST_P(EverySoc, FullyConnectedBlock32WithF16) {
  const Values x = Random(kM * kK, 1, 1), q = Codes(7, 5);
  PerBlock quant{{1, 32}, {}};
  Values w = q;
  for (int n = 0; n < kN; ++n)
    for (int b = 0; b < kK / 32; ++b) {
      quant.scales.push_back({0.01f + 0.001f * static_cast<float>((7 * n + b) % 13), 0});
      for (int k = 32 * b; k < 32 * b + 32; ++k) w[n * kK + k] *= quant.scales.back().scale;
    }
  const Values y = RunLinear(
      {"FullyConnected", Half({kM, kK}), {DataType::kSFixed8, {kN, kK}, quant}, Half({kM, kN})}, x,
      Int8Bytes(q), GetParam());
  EXPECT_GT(Snr(Product(x, w), y), 58);
}

TEST(Ops, FullyConnectedInt8PerChannelWithF16) {
  const Values x = Random(kM * kK, 1, 1), q = Codes(127, 6);
  PerChannel quant{0, {}};
  Values w = q;
  for (int n = 0; n < kN; ++n) {
    quant.scales.push_back({0.01f + 0.0001f * n, 0});
    for (int k = 0; k < kK; ++k) w[n * kK + k] *= quant.scales.back().scale;
  }
  const Values y = RunLinear(
      {"FullyConnected", Half({kM, kK}), {DataType::kSFixed8, {kN, kK}, quant}, Half({kM, kN})}, x,
      Int8Bytes(q));
  EXPECT_GT(Snr(Product(x, w), y), 58);
}

TEST(Ops, ElementWise) {
  const Values a = Random(256, 2, 1), b = Random(256, 2, 2);
  Values sum(256), product(256), sigmoid(256);
  for (int i = 0; i < 256; ++i) {
    sum[i] = a[i] + b[i];
    product[i] = a[i] * b[i];
    sigmoid[i] = 1 / (1 + std::exp(-a[i]));
  }
  const Shape shape = {1, 1, 4, 64};
  for (bool fixed : {false, true}) {
    auto spec = [&](float range) { return fixed ? Fixed(16, shape, range) : Half(shape); };
    const double least = fixed ? 70 : 60;
    EXPECT_GT(Snr(sum, RunOp({"ElementWiseAdd", {spec(2), spec(2)}, spec(4)}, {a, b})), least);
    EXPECT_GT(Snr(product, RunOp({"ElementWiseMultiply", {spec(2), spec(2)}, spec(4)}, {a, b})),
              least);
    EXPECT_GT(Snr(sigmoid, RunOp({"Sigmoid", {spec(2)}, spec(1)}, {a})), least);
  }
}

TEST(Ops, Softmax) {
  const Values x = Random(4 * 64, 5, 1);
  Values want(x.size());
  for (int r = 0; r < 4; ++r) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += want[r * 64 + i] = std::exp(x[r * 64 + i]);
    for (int i = 0; i < 64; ++i) want[r * 64 + i] /= sum;
  }
  const Shape shape = {1, 1, 4, 64};
  EXPECT_GT(Snr(want, RunOp({"Softmax", {Half(shape)}, Half(shape)}, {x})), 50);
  EXPECT_GT(Snr(want, RunOp({"Softmax",
                             {Fixed(16, shape, 5)},
                             {DataType::kUFixed16, shape, PerTensor{1.0f / 65535, 0}}},
                            {x})),
            60);
}

TEST(Ops, RmsNorm) {
  const Values x = Random(4 * 64, 3, 1), gamma = Random(64, 1, 2);
  Values want(x.size());
  for (int r = 0; r < 4; ++r) {
    const float* row = &x[r * 64];
    const float mean = std::inner_product(row, row + 64, row, 0.0f) / 64;
    for (int i = 0; i < 64; ++i) want[r * 64 + i] = row[i] * gamma[i] / std::sqrt(mean + 1e-5f);
  }
  for (bool fixed : {false, true}) {
    auto spec = [&](Shape shape, float range) {
      return fixed ? Fixed(16, shape, range) : Half(shape);
    };
    const TensorSpec io = spec({1, 1, 4, 64}, 3), weight = spec({64}, 1);
    const Values y = RunLinear({"RmsNorm",
                                io,
                                weight,
                                io,
                                {{"axes", IntArray{DataType::kU32, {1}, {3}}}, {"epsilon", 1e-5f}}},
                               x, Encoded(weight, gamma));
    EXPECT_GT(Snr(want, y), fixed ? 70 : 60);
  }
}

TEST(Ops, MatMul) {
  const Values a = Random(2 * 4 * 64, 1, 1), b = Random(2 * 64 * 32, 1, 2);
  Values want;
  for (int h = 0; h < 2; ++h) {
    const Values x(&a[h * 256], &a[h * 256] + 256), w(&b[h * 2048], &b[h * 2048] + 2048);
    const Values y = Product(x, Transposed(w, 64, 32), 4, 64, 32);
    want.insert(want.end(), y.begin(), y.end());
  }
  const Shape sa = {1, 2, 4, 64}, sb = {1, 2, 64, 32}, sy = {1, 2, 4, 32};
  EXPECT_GT(Snr(want, RunOp({"MatMul", {Half(sa), Half(sb)}, Half(sy)}, {a, b})), 60);
  EXPECT_GT(
      Snr(want, RunOp({"MatMul", {Fixed(16, sa, 1), Fixed(16, sb, 1)}, Fixed(16, sy, 16)}, {a, b})),
      60);
  EXPECT_GT(
      Snr(want, RunOp({"MatMul", {Fixed(16, sa, 1), Fixed(8, sb, 1)}, Fixed(16, sy, 16)}, {a, b})),
      30);
}

// Row `index` of x as [1, 1, 6, 4], chosen by a run-time index.
Values GatheredRow(const Values& x, int32_t index) {
  GraphBuilder builder = MUST(GraphBuilder::Create(MUST(Context::Create(TestDevice())), "g"));
  const Ref in = MUST(builder.Input("x", Half({1, 1, 6, 4})));
  const Ref at = MUST(builder.Input("index", {DataType::kI32, {1}, {}}));
  const Ref out = MUST(builder.Output("y", Half({1, 1, 1, 4})));
  MUST(builder.Add({.type = "Gather",
                    .name = "g",
                    .inputs = {in, at},
                    .params = {{"axis", int32_t{2}}},
                    .into = out}));
  CompiledGraph graph = MUST(std::move(builder).Finalize());
  const std::vector<std::byte> bytes = Encoded(Half({}), x);
  const std::span<const std::byte> inputs[] = {bytes, std::as_bytes(std::span(&index, 1))};
  std::vector<std::byte> result(8);
  const std::span<std::byte> outputs[] = {result};
  MUST(graph.Execute(inputs, outputs));
  Values row(4);
  DecodeValues(Half({}), result, row);
  return row;
}

TEST(Ops, DataMovementIsExact) {
  Values x(2 * 3 * 4);
  std::iota(x.begin(), x.end(), 0.0f);
  const TensorSpec in = Half({1, 2, 3, 4});
  const Values transposed = RunOp({"Transpose",
                                   {in},
                                   Half({1, 3, 2, 4}),
                                   {{"perm", IntArray{DataType::kU32, {4}, {0, 2, 1, 3}}}}},
                                  {x});
  EXPECT_EQ(transposed[4], 12);
  EXPECT_EQ(RunOp({"Reshape", {in}, Half({1, 1, 6, 4})}, {x}), x);
  const Values slice =
      RunOp({"StridedSlice",
             {in},
             Half({1, 2, 3, 2}),
             {{"ranges", IntArray{DataType::kI32, {4, 3}, {0, 1, 1, 0, 2, 1, 0, 3, 1, 2, 4, 1}}}}},
            {x});
  EXPECT_EQ(slice, (Values{2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23}));
  const Values joined = RunOp({"Concat", {in, in}, Half({1, 2, 3, 8}), {{"axis", 3u}}}, {x, x});
  EXPECT_EQ(Values(&joined[0], &joined[0] + 8), (Values{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(GatheredRow(x, 4), (Values{16, 17, 18, 19}));
}

TEST(Ops, TypeConversions) {
  const Values x = Random(64, 1, 1);
  const Shape shape = {1, 1, 1, 64};
  EXPECT_GT(Snr(x, RunOp({"Quantize", {Half(shape)}, Fixed(16, shape, 1)}, {x})), 60);
  EXPECT_GT(Snr(x, RunOp({"Dequantize", {Fixed(16, shape, 1)}, Half(shape)}, {x})), 60);
  EXPECT_GT(Snr(x, RunOp({"Convert", {Fixed(16, shape, 1)}, Fixed(8, shape, 1)}, {x})), 35);
  EXPECT_GT(Snr(x, RunOp({"Cast", {Half(shape)}, {DataType::kF32, shape, {}}}, {x})), 60);
}

TEST(Ops, RefusalNamesOpAndLayerAndShowsTheLibrarysLog) {
  GraphBuilder builder = MUST(GraphBuilder::Create(MUST(Context::Create(TestDevice())), "g"));
  const Ref x = MUST(builder.Input("x", Half({1, 1, 4, 64})));
  const auto refused = builder.Add(
      {.type = "NoSuchOp", .name = "layers.3.nothing", .inputs = {x}, .out = Half({1, 1, 4, 64})});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kVendor);
  EXPECT_NE(refused.error().what.find("NoSuchOp 'layers.3.nothing'"), std::string::npos);
  EXPECT_FALSE(refused.error().remedy.empty());
}

TEST(Ops, WrongCountsAreRefusedBeforeTheLibrarySeesThem) {
  GraphBuilder builder = MUST(GraphBuilder::Create(MUST(Context::Create(TestDevice())), "g"));
  EXPECT_EQ(builder.Constant("w", Half({4, 4}), std::vector<uint16_t>(15)).error().code,
            Code::kInvalidInput);
  const TensorSpec lpbq = {
      DataType::kSFixed8, {1, 1, 32, 2}, Lpbq{3, 1, {{1, 0}, {1, 0}}, {1, 20}}};
  const auto refused = builder.Constant("w", lpbq, std::vector<int8_t>(64));
  EXPECT_EQ(refused.error().what, "block scale out of range");
}

}  // namespace
}  // namespace hexlane::qnn
