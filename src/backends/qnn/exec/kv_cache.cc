#include "backends/qnn/exec/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace hexlane::qnn {
namespace {

// Positions [from_at, from_at + count) of one tensor to [to_at, …) of another. Each is `lines`
// lines of `capacity` positions of `unit` bytes.
struct Side {
  std::byte* bytes;
  int64_t capacity;
  int64_t at;
};
void Copy(const std::byte* from, int64_t from_capacity, const Side& to, int64_t lines, size_t unit,
          int64_t count) {
  for (int64_t line = 0; line < lines; ++line)
    std::memcpy(to.bytes + static_cast<size_t>(line * to.capacity + to.at) * unit,
                from + static_cast<size_t>(line * from_capacity) * unit,
                static_cast<size_t>(count) * unit);
}

}  // namespace

CacheTensor::CacheTensor(const Layout& layout, int64_t capacity, std::span<const std::byte> zero)
    : layout_(layout), capacity_(capacity) {
  CHECK(zero.size() == layout.element_bytes);
  const auto elements = static_cast<size_t>(layout.heads * layout.head_dim * capacity);
  bytes_.reserve(elements * zero.size());
  for (size_t i = 0; i < elements; ++i) bytes_.insert(bytes_.end(), zero.begin(), zero.end());
}

// Keys: heads·head_dim lines of single elements; values: `heads` lines of whole rows.
void CacheTensor::CopyTo(std::span<std::byte> to, int64_t to_capacity, int64_t count) const {
  const int64_t lines = layout_.keys ? layout_.heads * layout_.head_dim : layout_.heads;
  const size_t unit =
      layout_.element_bytes * static_cast<size_t>(layout_.keys ? 1 : layout_.head_dim);
  CHECK(count <= to_capacity && count <= capacity_);
  CHECK(to.size() == static_cast<size_t>(lines * to_capacity) * unit);
  Copy(bytes_.data(), capacity_, {to.data(), to_capacity, 0}, lines, unit, count);
}

void CacheTensor::Store(std::span<const std::byte> from, int64_t rows, int64_t at, int64_t count) {
  const int64_t lines = layout_.keys ? layout_.heads * layout_.head_dim : layout_.heads;
  const size_t unit =
      layout_.element_bytes * static_cast<size_t>(layout_.keys ? 1 : layout_.head_dim);
  CHECK(count <= rows && from.size() == static_cast<size_t>(lines * rows) * unit);
  count = std::min(count, capacity_ - at);
  if (count > 0) Copy(from.data(), rows, {bytes_.data(), capacity_, at}, lines, unit, count);
}

}  // namespace hexlane::qnn
