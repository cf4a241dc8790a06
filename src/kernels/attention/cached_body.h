// Attention over the cache in vectors; included by vector/*.cc. Two passes: all scores of a tile of
// queries into scratch, then softmax, then the weighted sum of values.
#include <algorithm>
#include <cmath>

#include "kernels/attention/cached.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

inline void StoreKvBody(const StoreKvCall& call, int64_t first, int64_t end) {
  const KvCacheView& cache = call.cache;
  const int64_t dim = cache.head_dim;
  for (int64_t row = first; row < end; ++row) {
    const int64_t position = call.past + row;
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      const float* k = call.k.row(row) + head * dim;
      const float* v = call.v.row(row) + head * dim;
      uint16_t* keys = cache.key_block(head, position / kKeyBlock) + position % kKeyBlock;
      uint16_t* values = cache.value(head, position);
      for (int64_t i = 0; i < dim; i += kLanes) {
        const int64_t count = dim - i < kLanes ? dim - i : kLanes;
        uint16_t half[kLanes];
        StoreHalf(half, LoadPart(v + i, count));
        std::memcpy(values + i, half, static_cast<size_t>(count) * 2);
        StoreHalf(half, LoadPart(k + i, count));
        for (int64_t j = 0; j < count; ++j) keys[(i + j) * kKeyBlock] = half[j];
      }
    }
  }
}

// Up to kQueryTile queries of one kv head.
struct QueryTile {
  int count = 0;
  int64_t head = 0;            // kv head
  const float* q[kQueryTile];  // [head_dim]
  float* out[kQueryTile];      // [head_dim]
  int64_t first[kQueryTile];   // visible keys: first … end - 1
  int64_t end[kQueryTile];
  int64_t lowest = 0, highest = 0;  // over the tile
  int64_t stride = 0;               // floats between rows of scores
};

inline QueryTile TileAt(const AttendCall& call, int64_t item) {
  const int64_t tiles = AttendTilesPerHead(call), group = call.heads / call.cache.kv_heads;
  QueryTile tile;
  tile.head = item / tiles;
  const int64_t begin = item % tiles * kQueryTile, queries = call.q.rows * group;
  tile.count = static_cast<int>(queries - begin < kQueryTile ? queries - begin : kQueryTile);
  for (int i = 0; i < kQueryTile; ++i) {
    // A short tile repeats its last query, so that the inner loops have a fixed height.
    const int64_t query = begin + (i < tile.count ? i : tile.count - 1);
    const int64_t row = query / group;
    const int64_t column = (tile.head * group + query % group) * call.cache.head_dim;
    tile.q[i] = call.q.row(row) + column;
    tile.out[i] = call.out.row(row) + column;
    tile.end[i] = call.past + row + 1;
    const bool cut = call.window > 0 && tile.end[i] > call.window;
    tile.first[i] = cut ? tile.end[i] - call.window : 0;
  }
  tile.lowest = tile.first[0] / kKeyBlock * kKeyBlock;
  tile.highest = tile.end[kQueryTile - 1];
  tile.stride = (tile.highest - tile.lowest + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  return tile;
}

// Scores of one block of keys. R: queries at once.
template <int R>
inline void ScoreBlock(const QueryTile& tile, const uint16_t* keys, int64_t dim, float scale,
                       float* scores) {
  constexpr int kVectors = kKeyBlock / kLanes;
  F32 sums[R][kVectors];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Set(0);
  for (int64_t d = 0; d < dim; ++d) {
    F32 k[kVectors];
    for (int v = 0; v < kVectors; ++v) k[v] = LoadHalf(keys + d * kKeyBlock + v * kLanes);
    for (int r = 0; r < R; ++r) {
      const F32 q = Set(tile.q[r][d]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Fma(q, k[v], sums[r][v]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < kVectors; ++v)
      Store(scores + r * tile.stride + v * kLanes, Mul(sums[r][v], Set(scale)));
}

inline void Softcap(float* scores, int64_t count, float cap) {
  // tanh(x) = 1 - 2 / (e^2x + 1)
  for (int64_t i = 0; i < count; i += kLanes) {
    const F32 e = Exp(Mul(Load(scores + i), Set(2 / cap)));
    const F32 tanh = Sub(Set(1), Div(Set(2), Add(e, Set(1))));
    Store(scores + i, Mul(tanh, Set(cap)));
  }
}

// Scores to unnormalised probabilities, 0 outside begin … end - 1; returns 1 / their sum.
inline float SoftmaxRow(float* scores, int64_t begin, int64_t end, int64_t stride) {
  for (int64_t i = 0; i < begin; ++i) scores[i] = -INFINITY;
  for (int64_t i = end; i < stride; ++i) scores[i] = -INFINITY;
  F32 most = Set(-INFINITY);
  for (int64_t i = 0; i < stride; i += kLanes) most = Max(Load(scores + i), most);
  const F32 max = Set(Greatest(most));
  F32 sum = Set(0);
  for (int64_t i = 0; i < stride; i += kLanes) {
    const F32 p = Exp(Sub(Load(scores + i), max));
    Store(scores + i, p);
    sum = Add(sum, p);
  }
  // Exp ends at 1e-38 rather than 0 for the hidden ones: too little to count in the sum, but not
  // for values.
  for (int64_t i = 0; i < begin; ++i) scores[i] = 0;
  for (int64_t i = end; i < stride; ++i) scores[i] = 0;
  return 1 / Sum(sum);
}

// out[r][d … d + V lanes] for all queries of the tile.
template <int R, int V>
inline void WeightedSum(const QueryTile& tile, const KvCacheView& cache, const float* scores,
                        const float* inverse, int64_t d) {
  F32 sums[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) sums[r][v] = Set(0);
  const uint16_t* values = cache.value(tile.head, tile.lowest) + d;
  for (int64_t p = 0; p < tile.highest - tile.lowest; ++p, values += cache.head_dim) {
    F32 x[V];
    for (int v = 0; v < V; ++v) x[v] = LoadHalf(values + v * kLanes);
    for (int r = 0; r < R; ++r) {
      const F32 weight = Set(scores[r * tile.stride + p]);
      for (int v = 0; v < V; ++v) sums[r][v] = Fma(weight, x[v], sums[r][v]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v)
      StorePart(tile.out[r] + d + v * kLanes, Mul(sums[r][v], Set(inverse[r])),
                cache.head_dim - d - v * kLanes);
}

template <int R>
inline void AttendTile(const AttendCall& call, const QueryTile& tile, float* scores) {
  const KvCacheView& cache = call.cache;
  for (int64_t p = tile.lowest; p < tile.highest; p += kKeyBlock)
    ScoreBlock<R>(tile, cache.key_block(tile.head, p / kKeyBlock), cache.head_dim, call.scale,
                  scores + p - tile.lowest);
  float inverse[R];
  for (int r = 0; r < R; ++r) {
    float* row = scores + r * tile.stride;
    if (call.softcap > 0) Softcap(row, tile.stride, call.softcap);
    inverse[r] =
        SoftmaxRow(row, tile.first[r] - tile.lowest, tile.end[r] - tile.lowest, tile.stride);
  }
  // As many accumulators as leave room for the values and a weight, but at most 64 columns.
  constexpr int kWide = std::min(kRegisters / 2 / R, 64 / kLanes);
  int64_t d = 0;
  for (; d + kWide * kLanes <= cache.head_dim; d += kWide * kLanes)
    WeightedSum<R, kWide>(tile, cache, scores, inverse, d);
  for (; d < cache.head_dim; d += kLanes) WeightedSum<R, 1>(tile, cache, scores, inverse, d);
}

inline void AttendBody(const AttendCall& call, int64_t first, int64_t end, float* scratch) {
  for (int64_t item = first; item < end; ++item) {
    const QueryTile tile = TileAt(call, item);
    switch (tile.count) {
      case 1: AttendTile<1>(call, tile, scratch); break;
      case 2: AttendTile<2>(call, tile, scratch); break;
      case 3: AttendTile<3>(call, tile, scratch); break;
      default: AttendTile<4>(call, tile, scratch); break;
    }
  }
}

}  // namespace
}  // namespace hexlane
