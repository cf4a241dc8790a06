// Rotary embedding and attention over the cache.
#include <algorithm>
#include <cmath>
#include <functional>

#include "backends/cpu/exec/step.h"
#include "base/thread_pool.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {

class RopeStep : public Step {
 public:
  RopeStep(const StepContext& context, size_t table)
      : in_(static_cast<size_t>(context.step.in[0])),
        dim_(context.out()),
        head_dim_(std::get<RopeAttrs>(context.step.attrs).head_dim),
        table_(table) {}

  void Run(Frame& frame) const override {
    static RotateFn* const kernel = Best<KernelOp::kRotate>();
    const Rows x{frame.buffers[static_cast<size_t>(out)], frame.rows, dim_};
    if (in_ != static_cast<size_t>(out)) std::copy_n(frame.buffers[in_], x.rows * dim_, x.data);
    RopeTable table = frame.tables[table_];
    table.head_dim = head_dim_;
    const auto body = [&](int64_t first, int64_t end) { kernel(x, table, first, end); };
    if (frame.rows == 1) return body(0, 1);
    frame.pool->ParallelFor(frame.rows, 16, std::ref(body));
  }

 private:
  size_t in_;
  int64_t dim_, head_dim_;
  size_t table_;  // of Needs::tables
};

class AttentionStep : public Step {
 public:
  AttentionStep(const StepContext& context, size_t cache)
      : attrs_(std::get<AttentionAttrs>(context.step.attrs)),
        k_encoding_(context.step.k_encoding),
        v_encoding_(context.step.v_encoding),
        cache_(cache) {
    for (size_t i = 0; i < 3; ++i) in_[i] = static_cast<size_t>(context.step.in[i]);
  }

  void Run(Frame& frame) const override {
    Store(frame);
    static AttendFn* const kernel = Best<KernelOp::kAttend>();
    const int64_t dim = attrs_.heads * attrs_.head_dim;
    const AttendCall call{.q = {frame.buffers[in_[0]], frame.rows, dim},
                          .out = {frame.buffers[static_cast<size_t>(out)], frame.rows, dim},
                          .cache = frame.caches[cache_],
                          .past = frame.past,
                          .heads = attrs_.heads,
                          .scale = attrs_.scale,
                          .window = attrs_.window,
                          .softcap = attrs_.softcap};
    const int64_t items = AttendItems(call);
    const int64_t pieces = std::min<int64_t>(items, AttendPieces(*frame.pool));
    const auto body = [&](int64_t first, int64_t end) {
      for (int64_t piece = first; piece < end; ++piece)
        kernel(call, items * piece / pieces, items * (piece + 1) / pieces,
               frame.scratch + piece * frame.scratch_piece);
    };
    frame.pool->ParallelFor(pieces, 1, std::ref(body));
  }

 private:
  void Store(Frame& frame) const {
    static StoreKvFn* const kernel = Best<KernelOp::kStoreKv>();
    const int64_t dim = attrs_.kv_heads * attrs_.head_dim;
    const Rows k{frame.buffers[in_[1]], frame.rows, dim}, v{frame.buffers[in_[2]], frame.rows, dim};
    const StoreKvCall call{k, v, frame.caches[cache_], frame.past};
    const auto body = [&](int64_t first, int64_t end) {
      const auto at = first * dim;
      const auto count = static_cast<size_t>((end - first) * dim);
      if (k_encoding_) FakeQuantize({k.data + at, count}, *k_encoding_);
      if (v_encoding_) FakeQuantize({v.data + at, count}, *v_encoding_);
      kernel(call, first, end);
    };
    if (frame.rows == 1) return body(0, 1);
    frame.pool->ParallelFor(frame.rows, 16, std::ref(body));
  }

  AttentionAttrs attrs_;
  std::optional<Encoding> k_encoding_, v_encoding_;
  size_t cache_;  // of Frame::caches
  size_t in_[3];  // q, k, v
};

// The number of the table for these frequencies, added when it is new.
size_t TableFor(Needs& needs, const std::string& weight, std::vector<float> inv_freq, float scale) {
  for (size_t i = 0; i < needs.tables.size(); ++i)
    if (needs.tables[i].weight == weight && needs.tables[i].scale == scale) return i;
  needs.tables.push_back({weight, std::move(inv_freq), scale});
  return needs.tables.size() - 1;
}

}  // namespace

LoadedStep LoadRope(StepContext& context) {
  const auto& attrs = std::get<RopeAttrs>(context.step.attrs);
  std::vector<float> inv_freq = TRY(WeightAsFloats(context, 0));
  if (attrs.head_dim <= 0 || context.in(0) != context.out() ||
      context.out() % attrs.head_dim != 0 ||
      static_cast<int64_t>(2 * inv_freq.size()) > attrs.head_dim)
    return context.Misfit("buffers, heads and frequencies do not fit each other");
  const size_t table =
      TableFor(context.needs, context.step.weights[0], std::move(inv_freq), attrs.scale);
  return LoadedStep(std::make_unique<RopeStep>(context, table));
}

LoadedStep LoadAttention(StepContext& context) {
  const auto& a = std::get<AttentionAttrs>(context.step.attrs);
  constexpr int64_t kMost = 1 << 16;
  const bool sane = a.heads > 0 && a.heads <= kMost && a.head_dim > 0 && a.head_dim <= kMost &&
                    a.kv_heads > 0 && a.heads % a.kv_heads == 0;
  if (!sane || context.in(0) != a.heads * a.head_dim || context.out() != context.in(0) ||
      context.in(1) != a.kv_heads * a.head_dim || context.in(2) != context.in(1))
    return context.Misfit("buffers and heads do not fit each other");
  for (const int in : context.step.in)
    if (in == context.step.out) return context.Misfit("it cannot work in place");
  if (a.window < 0 || !std::isfinite(a.scale) || !(a.softcap >= 0))
    return context.Misfit("bad scale, window or softcap");
  context.needs.caches.push_back({a.kv_heads, a.head_dim});
  return LoadedStep(std::make_unique<AttentionStep>(context, context.needs.caches.size() - 1));
}

}  // namespace hexlane
