// Quantised products at the shapes of SmolLM2-135M and LLaMA-7B layers. Items are multiply-adds
// times two.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/thread_pool.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pack/pack.h"
#include "kernels/pack/random_matrix.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
void Run(benchmark::State& state, Kernel kernel, int64_t n, int64_t k) {
  const int64_t rows = state.range(0);
  ThreadPool pool(static_cast<int>(state.range(1)));
  // Enough copies to leave the caches when one row is multiplied, as in decoding.
  const int copies = rows == 1 ? static_cast<int>(64'000'000 / (n * k)) + 1 : 1;
  std::vector<Tensor> weights;
  for (int i = 0; i < copies; ++i)
    weights.push_back(Pack(RandomMatrix(kernel.format, n, k, static_cast<unsigned>(i))));
  std::vector<float> x(rows * k, 0.5f), y(rows * n);
  const ActivationBits bits = state.range(2) == 16 ? ActivationBits::k16 : ActivationBits::k8;
  QuantizedRowsBuffer buffer(rows, k, bits);
  const QuantizedRows q = buffer.Quantize({x.data(), rows, k}, pool);
  size_t next = 0;
  for (auto _ : state) {
    const MatMulCall call{
        q, weights[next++ % copies].view().bytes.data(), LayoutOf(kernel.format, k), n, y.data(),
        n};
    const int64_t strips = (n + 15) / 16;
    pool.ParallelFor(strips, std::max<int64_t>(2, strips / (pool.threads() * 4) / 2 * 2),
                     [&](int64_t b, int64_t e) { kernel.As<KernelOp::kMatMul>()(call, b, e); });
  }
  state.counters["OP/s"] =
      benchmark::Counter(2.0 * rows * n * k, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["B/s"] = benchmark::Counter(static_cast<double>(PackedBytes(kernel.format, n, k)),
                                             benchmark::Counter::kIsIterationInvariantRate);
}

void RunPlain(benchmark::State& state, Kernel kernel, DType dtype) {
  const int64_t rows = state.range(0), n = 1536, k = 576;
  const std::vector<float> x(rows * k, 0.5f), w(n * k, 0.25f);
  std::vector<float> y(rows * n);
  const PlainMatMulCall call{
      {x.data(), rows, k}, reinterpret_cast<const std::byte*>(w.data()), dtype, y.data(), n};
  for (auto _ : state) kernel.As<KernelOp::kPlainMatMul>()(call, 0, n);
  state.counters["OP/s"] =
      benchmark::Counter(2.0 * rows * n * k, benchmark::Counter::kIsIterationInvariantRate);
}

const bool kRegisteredPlain = [] {
  for (const Kernel& kernel : AllKernels()) {
    if (kernel.op != KernelOp::kPlainMatMul || !Supports(kernel.cpu)) continue;
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
      benchmark::RegisterBenchmark(
          (std::string(kernel.name) + "/" + std::string(DTypeName(dtype))).c_str(),
          [kernel, dtype](benchmark::State& state) { RunPlain(state, kernel, dtype); })
          ->ArgName("rows")
          ->Arg(1)
          ->Arg(128);
  }
  return true;
}();

const bool kRegistered = [] {
  for (const Kernel& kernel : AllKernels()) {
    if (kernel.op != KernelOp::kMatMul || !Supports(kernel.cpu) || kernel.cpu == Cpu::kAny)
      continue;
    for (const auto [n, k] : {std::array{1536, 576}, {576, 1536}, {4096, 4096}})
      benchmark::RegisterBenchmark(
          (std::string(kernel.name) + "/" + std::to_string(n) + "x" + std::to_string(k)).c_str(),
          [kernel, n, k](benchmark::State& state) { Run(state, kernel, n, k); })
          ->ArgNames({"rows", "threads", "bits"})
          ->ArgsProduct({{1, 128}, {1, 2}, {8, 16}})
          ->UseRealTime();
  }
  return true;
}();
}  // namespace
}  // namespace hexlane
