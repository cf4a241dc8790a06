#include "compiler/partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/emitters.h"

namespace hexlane {
namespace {

// What the vendor's compiler takes before it has seen a weight.
constexpr size_t kCompilerBytes = 200u << 20;

constexpr size_t kDefaultBytes = 1u << 30;

constexpr size_t kWholeShare = 1'000'000;

bool IsLookup(const Graph& unit) {
  return std::all_of(unit.nodes().begin(), unit.nodes().end(),
                     [](const Node& node) { return node.op == OpKind::kEmbedding; });
}

// Appends what `emitter` refuses of `unit`; true when that is nothing.
bool Accepts(const Emitter& emitter, const Graph& unit, const Target* target,
             std::vector<Refusal>& refusals) {
  bool accepted = true;
  for (const Node& node : unit.nodes()) {
    const std::optional<std::string> reason = emitter.Refuses(unit, node, target);
    if (!reason) continue;
    accepted = false;
    refusals.push_back({unit.name(), unit.NameOf(node), std::string(Def(node.op).name), *reason});
  }
  return accepted;
}

// Consecutive costs in groups of at most `limit`, each as long as it can be.
std::vector<int> CutGreedily(std::span<const size_t> costs, size_t limit) {
  std::vector<int> sizes;
  size_t sum = 0;
  for (const size_t cost : costs) {
    if (sizes.empty() || sum + cost > limit) {
      sizes.push_back(0);
      sum = 0;
    }
    sum += cost;
    ++sizes.back();
  }
  return sizes;
}

class Partitioner {
 public:
  Partitioner(const UnitSource& units, const PartitionOptions& options)
      : units_(units), options_(options) {}

  Result<Partition> Run() {
    emitter_ = TRY(NewEmitter(options_.backend));
    for (int i = 0; i < units_.count; ++i) TRY(Place(TRY(units_.load(i)), i));
    SetMemory();
    for (int i = 0; i < units_.count; ++i) TRY(CheckFits(i));
    std::vector<UnitRun> whole = std::move(partition_.runs);
    partition_.runs.clear();
    for (const UnitRun& run : whole) Cut(run);
    return std::move(partition_);
  }

 private:
  Result<void> Place(const Graph& unit, int index) {
    const bool there =
        !IsLookup(unit) && Accepts(*emitter_, unit, options_.target, partition_.refusals);
    const std::string_view chosen = there ? options_.backend : "cpu";
    costs_.push_back(there ? emitter_->Cost(unit, options_.stage_count) : UnitCost());
    names_.push_back(unit.name());
    if (!partition_.runs.empty() && partition_.runs.back().backend == chosen)
      ++partition_.runs.back().count;
    else
      partition_.runs.push_back({std::string(chosen), index, 1, {}});
    return {};
  }

  // Of the units of one shard, which has the compiler to itself.
  size_t memory() const {
    return partition_.memory > kCompilerBytes ? partition_.memory - kCompilerBytes : 0;
  }

  // Small shards are cheap: time and memory grow faster than the shard.
  void SetMemory() {
    partition_.memory = options_.memory;
    if (options_.memory > 0) return;
    size_t largest = 0;
    for (const UnitCost& cost : costs_) largest = std::max(largest, cost.memory_bytes);
    partition_.memory = std::max(kDefaultBytes, 2 * largest + kCompilerBytes);
  }

  Result<void> CheckFits(int unit) const {
    const UnitCost& cost = costs_[static_cast<size_t>(unit)];
    const std::string& name = names_[static_cast<size_t>(unit)];
    if (cost.memory_bytes > memory()) {
      return InvalidInput("{} alone needs more memory to compile than may be used", name)
          .Want("--memory {}MiB or more",
                ((cost.memory_bytes + kCompilerBytes + kOwnBytes) >> 20) + 1)
          .Got("{} MiB, of which {} are for this process", (partition_.memory + kOwnBytes) >> 20,
               kOwnBytes >> 20);
    }
    if (cost.file_bytes <= Target::kMaxBinaryBytes) return {};
    return InvalidInput("{} alone is too large for a context binary", name)
        .Want("at most {} MB", Target::kMaxBinaryBytes / 1'000'000)
        .Got("{} MB", cost.file_bytes / 1'000'000)
        .Remedy("Choose a scheme with fewer bits");
  }

  // The larger of a unit's shares of the memory and of a binary, in millionths: sums of it stay
  // within both limits.
  size_t ShareOf(const UnitCost& cost) const {
    const double memory_share =
        static_cast<double>(cost.memory_bytes) / static_cast<double>(memory());
    const double file_share =
        static_cast<double>(cost.file_bytes) / static_cast<double>(Target::kMaxBinaryBytes);
    return static_cast<size_t>(std::ceil(kWholeShare * std::max(memory_share, file_share)));
  }

  void Cut(const UnitRun& run) {
    std::vector<size_t> shares;
    for (int unit = run.first; unit < run.first + run.count; ++unit)
      shares.push_back(ShareOf(costs_[static_cast<size_t>(unit)]));
    int first = run.first;
    for (const int size : CutEvenly(shares, kWholeShare)) {
      UnitRun& shard = partition_.runs.emplace_back(UnitRun{run.backend, first, size, {}});
      for (int unit = first; unit < first + size; ++unit) {
        shard.cost.memory_bytes += costs_[static_cast<size_t>(unit)].memory_bytes;
        shard.cost.file_bytes += costs_[static_cast<size_t>(unit)].file_bytes;
      }
      if (shard.cost.memory_bytes > 0) shard.cost.memory_bytes += kCompilerBytes;
      first += size;
    }
  }

  const UnitSource& units_;
  const PartitionOptions& options_;
  std::unique_ptr<Emitter> emitter_;
  std::vector<UnitCost> costs_;     // by unit
  std::vector<std::string> names_;  // by unit
  Partition partition_;
};

}  // namespace

size_t MemoryForParts(size_t memory) {
  if (memory == 0) return 0;
  return memory > kOwnBytes ? memory - kOwnBytes : 1;
}

std::vector<int> CutEvenly(std::span<const size_t> costs, size_t limit) {
  std::vector<int> sizes = CutGreedily(costs, limit);
  const size_t count = sizes.size();
  size_t low = costs.empty() ? 0 : *std::ranges::max_element(costs), high = limit;
  high = std::min(high, std::accumulate(costs.begin(), costs.end(), size_t{0}));
  while (low < high) {  // the smallest limit that needs no more groups
    const size_t middle = low + (high - low) / 2;
    if (CutGreedily(costs, middle).size() <= count)
      high = middle;
    else
      low = middle + 1;
  }
  return CutGreedily(costs, std::max(low, high));
}

Result<Partition> PartitionUnits(const UnitSource& units, const PartitionOptions& options) {
  return Partitioner(units, options).Run();
}

}  // namespace hexlane
