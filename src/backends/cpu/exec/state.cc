#include "backends/cpu/exec/state.h"

#include <cmath>
#include <cstdlib>

#include "base/thread_pool.h"

namespace hexlane {
namespace {

constexpr double kMostBytes = 64.0 * (1 << 30);
constexpr size_t kAlign = 64;

// Upper estimate, in floating point so that nothing overflows.
double Estimate(const Program& program, StateSize size, const ThreadPool& pool) {
  const auto rows = static_cast<double>(size.rows), context = size.context + 2.0 * kKeyBlock;
  double bytes = 0;
  for (const int64_t columns : program.buffers()) bytes += 4 * rows * static_cast<double>(columns);
  for (const Needs::Cache& cache : program.needs().caches)
    bytes += 4 * context * static_cast<double>(cache.kv_heads * cache.head_dim);
  bytes += 3 * rows * (static_cast<double>(program.needs().widest) + 32);
  return bytes + AttendPieces(pool) * kQueryTile * 4 * context;
}

int64_t RoundUp(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

}  // namespace

void CpuState::Free::operator()(void* p) const { std::free(p); }

CpuState::CpuState(const Program& program, StateSize size, ThreadPool& pool)
    : program_(program),
      size_(size),
      pool_(pool),
      quantized_(size.rows, std::max<int64_t>(1, program.needs().widest),
                 program.activation_bits()) {
  frame_.buffers.resize(program.buffers().size());
  frame_.caches.resize(program.needs().caches.size());
  frame_.tables.resize(program.needs().tables.size());
  frame_.quantized = &quantized_;
  frame_.pool = &pool;
}

Result<std::unique_ptr<CpuState>> CpuState::Create(const Program& program, StateSize size,
                                                   ThreadPool& pool) {
  if (const double bytes = Estimate(program, size, pool); bytes > kMostBytes)
    return InvalidInput("running this needs {:.0f} GiB", bytes / (1 << 30)).Want("at most 64");
  std::unique_ptr<CpuState> state(new CpuState(program, size, pool));
  size_t bytes = 0;
  state->Layout(nullptr, bytes);
  state->memory_.reset(static_cast<std::byte*>(std::calloc(bytes + kAlign, 1)));
  if (!state->memory_)
    return Environment("no memory for the cache and buffers").Want("{} bytes", bytes);
  const auto start = reinterpret_cast<uintptr_t>(state->memory_.get());
  state->Layout(state->memory_.get() + (kAlign - start % kAlign) % kAlign, bytes);
  return state;
}

void CpuState::Layout(std::byte* memory, size_t& bytes) {
  bytes = 0;
  const auto take = [&](auto*& pointer, int64_t count) {
    if (memory)
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(memory + bytes);
    bytes += RoundUp(count * static_cast<int64_t>(sizeof(*pointer)), kAlign);
  };
  const auto& columns = program_.buffers();
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool outside =
        program_.output_is_result_only() && static_cast<int>(i) == program_.output();
    take(frame_.buffers[i], outside ? 0 : size_.rows * columns[i]);
  }
  for (size_t i = 0; i < frame_.caches.size(); ++i) {
    const Needs::Cache& need = program_.needs().caches[i];
    KvCacheView& cache = frame_.caches[i];
    cache.capacity = RoundUp(size_.context, kKeyBlock);
    cache.kv_heads = need.kv_heads;
    cache.head_dim = need.head_dim;
    take(cache.keys, cache.elements());
    take(cache.values, cache.elements());
  }
  for (size_t i = 0; i < frame_.tables.size(); ++i) {
    RopeTable& table = frame_.tables[i];
    table.half = static_cast<int64_t>(program_.needs().tables[i].inv_freq.size());
    take(table.cos, size_.rows * table.half);
    take(table.sin, size_.rows * table.half);
  }
  frame_.scratch_piece = AttendScratch(size_.context + kKeyBlock);
  take(frame_.scratch, AttendPieces(pool_) * frame_.scratch_piece);
}

Frame& CpuState::Begin(int64_t rows, int64_t past) {
  CHECK(rows <= size_.rows && past + rows <= size_.context);
  frame_.rows = rows;
  frame_.past = past;
  for (size_t t = 0; t < frame_.tables.size(); ++t) {
    const Needs::Table& need = program_.needs().tables[t];
    const RopeTable& table = frame_.tables[t];
    float* cos = table.cos;
    float* sin = table.sin;
    for (int64_t row = 0; row < rows; ++row) {
      for (const float frequency : need.inv_freq) {
        const float angle = static_cast<float>(past + row) * frequency;
        *cos++ = std::cos(angle) * need.scale;
        *sin++ = std::sin(angle) * need.scale;
      }
    }
  }
  return frame_;
}

}  // namespace hexlane
