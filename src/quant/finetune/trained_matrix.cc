#include <algorithm>
#include <cmath>
#include <random>

#include "base/thread_pool.h"
#include "interp/gradient/ops.h"
#include "kernels/matmul/float.h"
#include "kernels/pack/pack.h"
#include "quant/finetune/adam.h"
#include "quant/finetune/trained.h"

namespace hexlane {
namespace {

constexpr int64_t kRowsAtOnce = 16;
// Levels keep this distance from a cell's middle at most when training begins, and from the ends of
// the range always: rounding gives the cell's integer back.
constexpr float kCell = 0.45f;
// A scale's relative step for a weight's step in integers.
constexpr double kScaleShare = 0.1;
constexpr float kRound = 0x1.8p23f;  // adding and taking it away rounds half to even

float Rounded(float level) { return (level + kRound) - kRound; }

// Δu = A B, with A = 0 at first.
struct LowRank {
  int64_t rank;
  std::vector<float> a, b;  // [n, rank], [rank, k]
  Adam adam_a, adam_b;

  LowRank(int64_t n, int64_t k, int64_t rank)
      : rank(rank), a(n * rank), b(rank * k), adam_a(a.size()), adam_b(b.size()) {
    std::mt19937 random(1);
    const float spread = std::sqrt(12 / static_cast<float>(rank));  // variance 1 / rank
    for (float& value : b) value = spread * (static_cast<float>(random() >> 8) * 0x1p-24f - 0.5f);
  }

  // du: [n, k]
  void Step(ConstRows du, double rate, int64_t step, ThreadPool* pool) {
    const int64_t n = du.rows, k = du.dim;
    std::vector<float> da(a.size()), db(b.size());
    AddProduct(du, {b.data(), rank, k}, {da.data(), n, rank}, pool);
    AddLinearWeight({a.data(), n, rank}, du, {db.data(), rank, k}, pool);
    const double share = 1 / std::sqrt(static_cast<double>(rank));
    adam_a.Move(da, 0, Adam::Corrected(rate, step), a);
    adam_b.Move(db, 0, Adam::Corrected(rate * share, step), b);
  }
  // sum += A B, [n, k]
  void AddTo(Rows sum, ThreadPool* pool) const {
    AddLinearInput({a.data(), sum.rows, rank}, {b.data(), rank, sum.dim}, sum, pool);
  }
};

class TrainedMatrix : public Trained {
 public:
  TrainedMatrix(const TensorView& packed, const FloatMatrix& original, int rank, ThreadPool* pool)
      : pool_(pool),
        matrix_(Unpack(packed, 0, packed.shape[0])),
        kept_(matrix_),
        integers_(IntegersOf(matrix_.scheme)),
        n_(matrix_.n),
        k_(matrix_.k),
        first_scales_(matrix_.scales),
        gains_(matrix_.scales.size()),
        scale_adam_(gains_.size()),
        levels_(matrix_.q.begin(), matrix_.q.end()),
        level_adam_(rank > 0 ? 0 : levels_.size()),
        values_(std::make_shared<std::vector<float>>(levels_.size())),
        rounded_({std::as_bytes(std::span(*values_)), packed.shape, DType::kF32}, values_) {
    matrix_.q = {};
    if (rank > 0) low_rank_ = std::make_unique<LowRank>(n_, k_, rank);
    ForEachRow([&](int64_t row) { Approach(row, original.row(row)); });
    Round();
  }

  const Tensor& rounded() const override { return rounded_; }

  void Round() override {
    std::ranges::fill(*values_, 0.0f);
    if (low_rank_) low_rank_->AddTo({values_->data(), n_, k_}, pool_);
    for (size_t i = 0; i < gains_.size(); ++i)
      matrix_.scales[i] = StoredBlockScale(matrix_.scheme, first_scales_[i] * std::exp(gains_[i]));
    ForEachRow([&](int64_t row) { RoundRow(row); });
  }

  void Step(std::span<const float> gradient, double rate, int64_t step) override {
    std::vector<float> du(gradient.size()), gains(gains_.size());
    ForEachRow([&](int64_t row) { ToLevels(row, gradient, du, gains); });
    scale_adam_.Move(gains, 0, Adam::Corrected(rate * kScaleShare, step), gains_);
    if (low_rank_) return low_rank_->Step({du.data(), n_, k_}, rate, step, pool_);
    const float corrected = Adam::Corrected(rate, step);
    ForEachRow([&](int64_t row) { MoveRow(row, du, corrected); });
  }

  void Keep() override {
    kept_.scales = matrix_.scales;
    ForEachRow([&](int64_t row) { KeepRow(row); });
  }

  Tensor Finish() const override { return Pack(kept_); }

 private:
  template <typename Body>
  void ForEachRow(const Body& body) const {
    ParallelFor(pool_, n_, kRowsAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) body(row);
    });
  }

  // Calls body(first element in the matrix, elements, what scales them) for a row's blocks.
  template <typename Body>
  void ForEachBlock(int64_t row, const Body& body) const {
    const int64_t block = Info(matrix_.scheme).block ? Info(matrix_.scheme).block : k_;
    for (int64_t column = 0; column < k_; column += block)
      body(row * k_ + column, std::min(block, k_ - column), matrix_.AffineOf(row, column));
  }

  float Limited(float level) const {
    const float low = static_cast<float>(integers_.min) - kCell;
    const float high = static_cast<float>(integers_.max) + kCell;
    level = level < high ? level : high;
    return level > low ? level : low;
  }

  // Levels, integers as yet, towards the original weights.
  void Approach(int64_t row, std::span<const float> original) {
    ForEachBlock(row, [&](int64_t first, int64_t count, QuantizedMatrix::Affine by) {
      if (by.scale == 0) return;
      for (int64_t i = first; i < first + count; ++i) {
        const float off = (original[i - row * k_] - by.min) / by.scale - levels_[i];
        levels_[i] = Limited(levels_[i] + std::clamp(off, -kCell, kCell));
      }
    });
  }

  void RoundRow(int64_t row) {
    float* values = values_->data();
    ForEachBlock(row, [&](int64_t first, int64_t count, QuantizedMatrix::Affine by) {
      for (int64_t i = first; i < first + count; ++i)
        values[i] = Rounded(Limited(levels_[i] + values[i])) * by.scale + by.min;
    });
  }

  // The gradient at the weights as that at levels and at the logarithms of scales.
  void ToLevels(int64_t row, std::span<const float> gradient, std::vector<float>& du,
                std::vector<float>& gains) const {
    const float* values = values_->data();
    const auto per_row = static_cast<int64_t>(gains.size()) / n_;
    int64_t block = 0;
    ForEachBlock(row, [&](int64_t first, int64_t count, QuantizedMatrix::Affine by) {
      float sum = 0;
      for (int64_t i = first; i < first + count; ++i) {
        du[i] = gradient[i] * by.scale;
        sum += gradient[i] * (values[i] - by.min);
      }
      gains[row * per_row + std::min(block++, per_row - 1)] += sum;
    });
  }

  void MoveRow(int64_t row, const std::vector<float>& du, float rate) {
    const std::span<float> levels(levels_.data() + row * k_, static_cast<size_t>(k_));
    level_adam_.Move({du.data() + row * k_, levels.size()}, row * k_, rate, levels);
    for (float& level : levels) level = Limited(level);
  }

  void KeepRow(int64_t row) {
    const float* values = values_->data();
    ForEachBlock(row, [&](int64_t first, int64_t count, QuantizedMatrix::Affine by) {
      if (by.scale == 0) return;
      for (int64_t i = first; i < first + count; ++i)
        kept_.q[i] = static_cast<int8_t>(std::lrint((values[i] - by.min) / by.scale));
    });
  }

  ThreadPool* pool_;
  QuantizedMatrix matrix_;  // the scales as they are; no integers
  QuantizedMatrix kept_;
  IntegerRange integers_;
  int64_t n_, k_;
  std::vector<float> first_scales_, gains_;  // a scale is first · exp(gain)
  Adam scale_adam_;
  std::vector<float> levels_;  // u [n, k], without A B
  Adam level_adam_;
  std::unique_ptr<LowRank> low_rank_;
  std::shared_ptr<std::vector<float>> values_;  // of rounded_
  Tensor rounded_;
};

}  // namespace

std::unique_ptr<Trained> TrainMatrix(const TensorView& packed, const FloatMatrix& original,
                                     int rank, ThreadPool* pool) {
  return std::make_unique<TrainedMatrix>(packed, original, rank, pool);
}

}  // namespace hexlane
