#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "base/transposed.h"
#include "kernels/attention/attention.h"
#include "kernels/matmul/float.h"
#include "kernels/sample/softmax.h"

namespace hexlane {
namespace {

constexpr int64_t kRowsAtOnce = 64;

// A matrix with its storage.
struct Matrix {
  std::vector<float> values;
  int64_t rows, dim;

  Matrix(int64_t rows, int64_t dim)
      : values(static_cast<size_t>(rows * dim)), rows(rows), dim(dim) {}
  Rows all() { return {values.data(), rows, dim}; }
};

struct Range {
  int64_t first, end;

  int64_t count() const { return end - first; }
};

// The keys that the query at `position` sees.
Range Visible(const AttentionArgs& a, int64_t position) {
  const int64_t first = a.window > 0 ? std::max<int64_t>(0, position - a.window + 1) : 0;
  return {first, position + 1};
}

// One head of rows of `past` followed by `fresh`.
Matrix HeadOf(const ConstRows& past, const ConstRows& fresh, Range rows, int64_t first_column,
              int64_t dim) {
  Matrix head(rows.count(), dim);
  for (int64_t i = 0; i < head.rows; ++i) {
    const int64_t position = rows.first + i;
    const float* row = position < past.rows ? past.row(position) : fresh.row(position - past.rows);
    std::copy_n(row + first_column, dim, head.all().row(i));
  }
  return head;
}

// Dot products of a query with `all` keys become the probabilities of those it sees, 0 elsewhere.
void ToProbabilities(const AttentionArgs& a, Range all, Range visible, float* row) {
  const std::span<float> seen(row + (visible.first - all.first),
                              static_cast<size_t>(visible.count()));
  std::fill(row, seen.data(), 0.f);
  std::fill(seen.data() + seen.size(), row + all.count(), 0.f);
  for (float& score : seen) {
    score *= a.scale;
    if (a.softcap > 0) score = a.softcap * std::tanh(score / a.softcap);
  }
  if (a.on_scores) a.on_scores(seen);
  Softmax(seen);
  if (a.on_probabilities) a.on_probabilities(seen);
}

// Some rows of the query heads that read kv head `kv_head`.
void AttendRows(const AttentionArgs& a, Range rows, int64_t kv_head, Rows out) {
  const int64_t past = a.past_k.rows, dim = a.head_dim, group = a.heads / a.kv_heads;
  const Range keys{Visible(a, past + rows.first).first, past + rows.end};
  Matrix k = HeadOf(a.past_k, a.k, keys, kv_head * dim, dim);
  Matrix v = HeadOf(a.past_v, a.v, keys, kv_head * dim, dim);
  const std::vector<float> columns = Transposed(v.values.data(), v.rows, dim);
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    Matrix q = HeadOf({}, a.q, rows, head * dim, dim);
    Matrix scores(rows.count(), keys.count()), result(rows.count(), dim);
    AddProduct(q.all(), k.all(), scores.all(), nullptr);
    for (int64_t i = 0; i < scores.rows; ++i)
      ToProbabilities(a, keys, Visible(a, past + rows.first + i), scores.all().row(i));
    AddProduct(scores.all(), {columns.data(), dim, v.rows}, result.all(), nullptr);
    for (int64_t i = 0; i < result.rows; ++i)
      std::copy_n(result.all().row(i), dim, out.row(rows.first + i) + head * dim);
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
  const int64_t blocks = (args.q.rows + kRowsAtOnce - 1) / kRowsAtOnce;
  ParallelFor(pool, blocks * args.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / args.kv_heads * kRowsAtOnce;
      AttendRows(args, {first, std::min(args.q.rows, first + kRowsAtOnce)}, i % args.kv_heads, out);
    }
  });
}

}  // namespace hexlane
