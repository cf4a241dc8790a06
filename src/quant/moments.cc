#include "quant/moments.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/transposed.h"
#include "kernels/matmul/float.h"

namespace hexlane {
namespace {

std::vector<float> Divided(const std::vector<double>& sums, int64_t count) {
  std::vector<float> means;
  for (const double sum : sums)
    means.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return means;
}

}  // namespace

void Moments::Add(ConstRows x, ThreadPool* pool) {
  if (dim_ == 0) {
    dim_ = x.dim;
    const auto dim = static_cast<size_t>(dim_);
    sum_.resize(dim * dim);
    channel_sums_.resize(dim), channel_sum_abs_.resize(dim), max_abs_.resize(dim);
  }
  CHECK(x.dim == dim_);
  rows_ += x.rows;
  AddToChannels(x);
  const std::vector<float> columns = Transposed(x.data, x.rows, x.dim);
  const ConstRows channels(columns.data(), dim_, x.rows);
  AddProduct(channels, channels, {sum_.data(), dim_, dim_}, pool);
}

void Moments::AddToChannels(ConstRows x) {
  for (int64_t row = 0; row < x.rows; ++row) {
    for (int64_t i = 0; i < dim_; ++i) {
      const float value = x.row(row)[i], magnitude = std::abs(value);
      channel_sums_[i] += value;
      channel_sum_abs_[i] += magnitude;
      max_abs_[i] = std::max(max_abs_[i], magnitude);
    }
  }
}

std::vector<float> Moments::MeanSquares() const {
  std::vector<float> squares(static_cast<size_t>(dim_));
  for (int64_t i = 0; i < dim_; ++i) squares[i] = sum_[i * dim_ + i] / static_cast<float>(rows_);
  return squares;
}

std::vector<float> Moments::MeanMagnitudes() const { return Divided(channel_sum_abs_, rows_); }

std::vector<float> Moments::Means() const { return Divided(channel_sums_, rows_); }

}  // namespace hexlane
