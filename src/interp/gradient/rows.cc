// Norm, rotation and element-wise ops: each row, or each element, by itself.
#include <cmath>
#include <vector>

#include "interp/gradient/ops.h"

namespace hexlane {
namespace {

// Calls body(chunk's first element in the rows, its 1 / sqrt(mean(x²) + eps)).
template <typename Body>
void ForEachChunk(const RmsNormCall& call, const Body& body) {
  const auto n = static_cast<int64_t>(call.w.size());
  for (int64_t first = 0; first < call.x.rows * call.x.dim; first += n) {
    double squares = 0;
    for (int64_t i = first; i < first + n; ++i)
      squares += static_cast<double>(call.x.data[i]) * call.x.data[i];
    body(first, 1 / std::sqrt(squares / static_cast<double>(n) + call.eps));
  }
}

}  // namespace

void AddRmsNormInput(const RmsNormCall& call, Rows dx) {
  const auto n = static_cast<int64_t>(call.w.size());
  ForEachChunk(call, [&](int64_t first, double r) {
    const float *x = call.x.data + first, *dy = call.dy.data + first;
    double along = 0;  // Σ w dy x
    for (int64_t i = 0; i < n; ++i) along += static_cast<double>(call.w[i]) * dy[i] * x[i];
    const double back = r * r * along / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      const double straight = static_cast<double>(call.w[i]) * dy[i];
      dx.data[first + i] += static_cast<float>(r * (straight - x[i] * back));
    }
  });
}

void AddRmsNormWeight(const RmsNormCall& call, std::span<float> dw) {
  ForEachChunk(call, [&](int64_t first, double r) {
    const float *x = call.x.data + first, *dy = call.dy.data + first;
    for (size_t i = 0; i < dw.size(); ++i) dw[i] += static_cast<float>(dy[i] * x[i] * r);
  });
}

void AddRope(ConstRows dy, const RopeArgs& args, Rows dx) {
  std::vector<float> opposite(args.inv_freq.begin(), args.inv_freq.end());
  for (float& frequency : opposite) frequency = -frequency;
  RopeArgs back = args;
  back.inv_freq = opposite;
  std::vector<float> turned(static_cast<size_t>(dy.rows * dy.dim));
  Rope(dy, back, {turned.data(), dy.rows, dy.dim});
  for (size_t i = 0; i < turned.size(); ++i) dx.data[i] += turned[i];
}

void AddMul(std::span<const float> dy, std::span<const float> b, std::span<float> da) {
  for (size_t i = 0; i < da.size(); ++i) da[i] += dy[i] * b[i];
}

void AddSilu(std::span<const float> dy, std::span<const float> a, std::span<float> da) {
  for (size_t i = 0; i < da.size(); ++i) {
    const float sigmoid = 1 / (1 + std::exp(-a[i]));
    da[i] += dy[i] * sigmoid * (1 + a[i] * (1 - sigmoid));
  }
}

}  // namespace hexlane
