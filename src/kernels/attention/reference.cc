#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/attention/attention.h"
#include "kernels/sample/softmax.h"

namespace hexlane {
namespace {
// Independent partial sums, so that the compiler may use vectors.
float Dot(const float* a, const float* b, int64_t n) {
  constexpr int kLanes = 8;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
  float sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (float lane : lanes) sum += lane;
  return sum;
}

const float* KeyAt(const ConstRows& past, const ConstRows& fresh, int64_t position) {
  return position < past.rows ? past.row(position) : fresh.row(position - past.rows);
}

// One (row, head): `scores` is scratch of at least as many elements as there are keys.
void AttendOne(const AttentionArgs& a, int64_t row, int64_t head, std::vector<float>& scores,
               float* out) {
  const int64_t position = a.past_k.rows + row;
  const int64_t first = a.window > 0 ? std::max<int64_t>(0, position - a.window + 1) : 0;
  const int64_t kv = head / (a.heads / a.kv_heads) * a.head_dim;
  const float* q = a.q.row(row) + head * a.head_dim;
  const std::span<float> visible(scores.data(), position - first + 1);
  for (int64_t p = first; p <= position; ++p) {
    const float score = a.scale * Dot(q, KeyAt(a.past_k, a.k, p) + kv, a.head_dim);
    visible[p - first] = a.softcap > 0 ? a.softcap * std::tanh(score / a.softcap) : score;
  }
  if (a.on_scores) a.on_scores(visible);
  Softmax(visible);
  if (a.on_probabilities) a.on_probabilities(visible);
  std::fill(out, out + a.head_dim, 0.f);
  for (int64_t p = first; p <= position; ++p) {
    const float* v = KeyAt(a.past_v, a.v, p) + kv;
    for (int64_t i = 0; i < a.head_dim; ++i) out[i] += visible[p - first] * v[i];
  }
}

void CheckShapes(const AttentionArgs& a, const Rows& out) {
  CHECK(a.heads > 0 && a.kv_heads > 0 && a.heads % a.kv_heads == 0);
  CHECK(a.q.dim == a.heads * a.head_dim && out.dim == a.q.dim && out.rows == a.q.rows);
  CHECK(a.k.dim == a.kv_heads * a.head_dim && a.k.rows == a.q.rows && a.v.rows == a.q.rows);
  CHECK(a.past_k.rows == a.past_v.rows && (a.past_k.rows == 0 || a.past_k.dim == a.k.dim));
}
}  // namespace

void Attention(const AttentionArgs& args, Rows out, ThreadPool* pool) {
  CheckShapes(args, out);
  const auto work = [&](int64_t begin, int64_t end) {
    std::vector<float> scores(args.past_k.rows + args.q.rows);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / args.heads, head = i % args.heads;
      AttendOne(args, row, head, scores, out.row(row) + head * args.head_dim);
    }
  };
  const int64_t count = args.q.rows * args.heads;
  if (!pool) return work(0, count);
  pool->ParallelFor(count, std::max<int64_t>(1, count / (pool->threads() * 8)), work);
}

}  // namespace hexlane
