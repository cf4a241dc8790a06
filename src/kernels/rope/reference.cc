#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "kernels/rope/rope.h"

namespace hexlane {
namespace {
struct Angles {
  std::vector<float> cos, sin;  // [rotary_dim / 2]
};

// Angles are rounded to float32 before cos and sin, as the checkpoints' own code does.
void AnglesAt(int64_t position, const RopeArgs& args, Angles& angles) {
  for (size_t i = 0; i < args.inv_freq.size(); ++i) {
    const float angle = static_cast<float>(position) * args.inv_freq[i];
    angles.cos[i] = std::cos(angle) * args.attention_factor;
    angles.sin[i] = std::sin(angle) * args.attention_factor;
  }
}

void RotateHead(const float* x, const Angles& angles, int64_t head_dim, float* y) {
  const int64_t half = static_cast<int64_t>(angles.cos.size());
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    y[i] = a * angles.cos[i] - b * angles.sin[i];
    y[i + half] = b * angles.cos[i] + a * angles.sin[i];
  }
  if (x != y) std::copy(x + 2 * half, x + head_dim, y + 2 * half);
}
}  // namespace

void Rope(ConstRows x, const RopeArgs& args, Rows y) {
  const size_t half = args.inv_freq.size();
  CHECK(args.head_dim > 0 && x.dim % args.head_dim == 0 && x.dim == y.dim && x.rows == y.rows);
  CHECK(static_cast<int64_t>(2 * half) <= args.head_dim);
  Angles angles{std::vector<float>(half), std::vector<float>(half)};
  for (int64_t r = 0; r < x.rows; ++r) {
    AnglesAt(args.first_position + r, args, angles);
    for (int64_t c = 0; c < x.dim; c += args.head_dim)
      RotateHead(x.row(r) + c, angles, args.head_dim, y.row(r) + c);
  }
}

}  // namespace hexlane
