#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "interp/gradient/ops.h"
#include "kernels/matmul/float.h"

namespace hexlane {
namespace {

// A matrix with its storage.
struct Matrix {
  std::vector<float> values;
  int64_t rows = 0, dim = 0;

  Matrix(int64_t rows, int64_t dim)
      : values(static_cast<size_t>(rows * dim)), rows(rows), dim(dim) {}
  operator ConstRows() const { return {values.data(), rows, dim}; }  // NOLINT: implicit by design
  operator Rows() { return {values.data(), rows, dim}; }             // NOLINT
};

Matrix Head(ConstRows all, int64_t head, int64_t head_dim) {
  Matrix one(all.rows, head_dim);
  for (int64_t r = 0; r < all.rows; ++r)
    std::copy_n(all.row(r) + head * head_dim, head_dim, one.values.data() + r * head_dim);
  return one;
}

void AddHead(const Matrix& one, float factor, int64_t head, Rows all) {
  for (int64_t r = 0; r < one.rows; ++r)
    for (int64_t i = 0; i < one.dim; ++i)
      all.row(r)[head * one.dim + i] += factor * one.values[r * one.dim + i];
}

class HeadGradient {
 public:
  HeadGradient(const AttentionArgs& args, ConstRows dy, const AttentionGradients& out)
      : args_(args), dy_(dy), out_(out), rows_(args.q.rows) {}

  void Run(int64_t head) const {
    const int64_t kv_head = head / (args_.heads / args_.kv_heads), dim = args_.head_dim;
    const Matrix q = Head(args_.q, head, dim), k = Head(args_.k, kv_head, dim);
    const Matrix v = Head(args_.v, kv_head, dim), dy = Head(dy_, head, dim);
    Matrix scores(rows_, rows_), through(rows_, rows_);  // of which: dy vᵀ
    AddProduct(q, k, scores, nullptr);
    AddProduct(dy, v, through, nullptr);
    Matrix dv(rows_, dim), dq(rows_, dim), dk(rows_, dim);
    std::vector<float> slopes(static_cast<size_t>(rows_), 1.0f);
    for (int64_t row = 0; row < rows_; ++row) {
      Probabilities(row, scores.values.data() + row * rows_, slopes);
      ScoreGradient(row, scores.values.data() + row * rows_, through.values.data() + row * rows_,
                    slopes);
    }
    AddLinearWeight(scores, dy, dv, nullptr);
    AddLinearInput(through, k, dq, nullptr);
    AddLinearWeight(through, q, dk, nullptr);
    AddHead(dv, 1, kv_head, out_.dv);
    AddHead(dq, args_.scale, head, out_.dq);
    AddHead(dk, args_.scale, kv_head, out_.dk);
  }

 private:
  int64_t FirstVisible(int64_t row) const {
    return args_.window > 0 ? std::max<int64_t>(0, row - args_.window + 1) : 0;
  }

  // Products of a row in place: what is seen becomes probabilities, the rest 0. `slopes`: of the
  // softcap.
  void Probabilities(int64_t row, float* s, std::vector<float>& slopes) const {
    const int64_t first = FirstVisible(row);
    float most = -INFINITY;
    for (int64_t i = first; i <= row; ++i) {
      s[i] *= args_.scale;
      if (args_.softcap > 0) {
        const float share = std::tanh(s[i] / args_.softcap);
        slopes[i] = 1 - share * share;
        s[i] = args_.softcap * share;
      }
      most = std::max(most, s[i]);
    }
    double sum = 0;
    for (int64_t i = first; i <= row; ++i) sum += s[i] = std::exp(s[i] - most);
    const auto inverse = static_cast<float>(1 / sum);
    for (int64_t i = first; i <= row; ++i) s[i] *= inverse;
    std::fill(s, s + first, 0.0f);
    std::fill(s + row + 1, s + rows_, 0.0f);
  }

  // d: dy vᵀ of a row, becomes the gradient of its scores.
  void ScoreGradient(int64_t row, const float* p, float* d,
                     const std::vector<float>& slopes) const {
    double mean = 0;
    for (int64_t i = 0; i <= row; ++i) mean += static_cast<double>(p[i]) * d[i];
    for (int64_t i = 0; i < rows_; ++i)
      d[i] = p[i] == 0 ? 0 : p[i] * (d[i] - static_cast<float>(mean)) * slopes[i];
  }

  const AttentionArgs& args_;
  ConstRows dy_;
  const AttentionGradients& out_;
  int64_t rows_;
};

}  // namespace

void AddAttention(const AttentionArgs& args, ConstRows dy, const AttentionGradients& out,
                  ThreadPool* pool) {
  CHECK(args.past_k.rows == 0 && !args.on_scores && !args.on_probabilities);
  const HeadGradient gradient(args, dy, out);
  const int64_t group = args.heads / args.kv_heads;
  const auto work = [&](int64_t begin, int64_t end) {  // threads share no keys
    for (int64_t head = begin * group; head < end * group; ++head) gradient.Run(head);
  };
  ParallelFor(pool, args.kv_heads, 1, work);
}

}  // namespace hexlane
