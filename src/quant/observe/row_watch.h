// Whether a value depends on the input at all: a broken graph or checkpoint gives the same row for
// every token.
#ifndef HEXLANE_QUANT_OBSERVE_ROW_WATCH_H_
#define HEXLANE_QUANT_OBSERVE_ROW_WATCH_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hexlane {

class RowWatch {
 public:
  // Whether there were rows and they did not differ, as an earlier watch found it.
  static RowWatch Restored(bool same) {
    RowWatch watch;
    watch.rows_ = same ? 2 : 0, watch.differ_ = !same;
    return watch;
  }

  // Rows of `dim` elements.
  void Add(std::span<const float> values, int64_t dim) {
    const auto width = static_cast<size_t>(dim);
    for (; !differ_ && values.size() >= width; values = values.subspan(width), ++rows_) {
      if (first_.empty()) first_.assign(values.begin(), values.begin() + dim);
      differ_ = !std::ranges::equal(first_, values.first(width));
    }
    if (differ_) first_ = {};
  }

  // There were several, each like the others.
  bool same() const { return rows_ > 1 && !differ_; }

 private:
  int64_t rows_ = 0;  // until they differed
  bool differ_ = false;
  std::vector<float> first_;
};

}  // namespace hexlane

#endif  // HEXLANE_QUANT_OBSERVE_ROW_WATCH_H_
