// Attention over a float16 cache, as the executor runs it.
//
// One layer's cache, for `capacity` positions (a multiple of 16):
//   keys    [kv_heads, capacity / 16, head_dim, 16]: 16 positions side by side, so that a vector
//           lane is a key and scores need no horizontal sums
//   values  [kv_heads, capacity, head_dim]
// each followed by kKeyBlock elements that may be read but mean nothing.
#ifndef HEXLANE_KERNELS_ATTENTION_CACHED_H_
#define HEXLANE_KERNELS_ATTENTION_CACHED_H_

#include "kernels/rows.h"

namespace hexlane {

inline constexpr int64_t kKeyBlock = 16;

struct KvCacheView {
  uint16_t* keys = nullptr;
  uint16_t* values = nullptr;
  int64_t capacity = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;

  // float16 elements of keys, and of values; all must be finite numbers from the start.
  int64_t elements() const { return kv_heads * capacity * head_dim + kKeyBlock; }
  uint16_t* key_block(int64_t head, int64_t block) const {
    return keys + (head * capacity + block * kKeyBlock) * head_dim;
  }
  uint16_t* value(int64_t head, int64_t position) const {
    return values + (head * capacity + position) * head_dim;
  }
};

// Rows first … end - 1 of k and v [rows, kv_heads · head_dim] to positions past + row.
struct StoreKvCall {
  ConstRows k, v;
  KvCacheView cache;
  int64_t past = 0;
};
using StoreKvFn = void(const StoreKvCall& call, int64_t first, int64_t end);

struct AttendCall {
  ConstRows
      q;     // [rows, heads · head_dim]; row r is at position past + r, its own key is in the cache
  Rows out;  // [rows, heads · head_dim]
  KvCacheView cache;
  int64_t past = 0;
  int64_t heads = 0;
  float scale = 1;
  int64_t window = 0;  // 0: none; else position p sees p-window+1 … p
  float softcap = 0;   // 0: none
};

// Queries that share a kv head are numbered row by row, (heads / kv_heads) a row, and handled in
// tiles.
inline constexpr int64_t kQueryTile = 4;
inline int64_t AttendTilesPerHead(const AttendCall& call) {
  const int64_t queries = call.q.rows * (call.heads / call.cache.kv_heads);
  return (queries + kQueryTile - 1) / kQueryTile;
}
// Items of work; item i is tile i % tiles of kv head i / tiles.
inline int64_t AttendItems(const AttendCall& call) {
  return call.cache.kv_heads * AttendTilesPerHead(call);
}
// Floats of scratch that one call of AttendFn needs for `keys` visible positions.
inline int64_t AttendScratch(int64_t keys) {
  return kQueryTile * ((keys + kKeyBlock - 1) / kKeyBlock * kKeyBlock);
}

// Items first … end - 1; scratch: AttendScratch(past + rows) floats.
using AttendFn = void(const AttendCall& call, int64_t first, int64_t end, float* scratch);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_ATTENTION_CACHED_H_
