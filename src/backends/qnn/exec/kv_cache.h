// The keys and values of one session for one part, in the binaries' own layout: keys [kv_heads,
// head_dim, capacity], values [kv_heads, capacity, head_dim], elements as the graphs have them.
#ifndef HEXLANE_BACKENDS_QNN_EXEC_KV_CACHE_H_
#define HEXLANE_BACKENDS_QNN_EXEC_KV_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hexlane::qnn {

// One layer's keys or values. A position is a column for keys, a row of each head for values.
class CacheTensor {
 public:
  struct Layout {
    bool keys = true;
    int64_t heads = 1;
    int64_t head_dim = 1;
    size_t element_bytes = 1;
  };
  // Starts as the bytes of `zero` (one position-less element pattern repeated).
  CacheTensor(const Layout& layout, int64_t capacity, std::span<const std::byte> zero);

  int64_t capacity() const { return capacity_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // Copies positions [0, count) into a buffer of the same layout with another capacity.
  void CopyTo(std::span<std::byte> to, int64_t to_capacity, int64_t count) const;
  // Stores the first `count` of `rows` new positions at `at`; those past the capacity are dropped:
  // nothing can attend to them any more.
  void Store(std::span<const std::byte> from, int64_t rows, int64_t at, int64_t count);

 private:
  Layout layout_;
  int64_t capacity_;
  std::vector<std::byte> bytes_;
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_EXEC_KV_CACHE_H_
