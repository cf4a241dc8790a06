#include "runtime/memory_need.h"

#include <algorithm>
#include <set>

#include "base/memory.h"
#include "runtime/variants.h"

namespace hexlane {
namespace {

constexpr std::string_view kCpuBackend = "cpu";
constexpr int kCpuCacheBits = 16;  // float16, whatever the package's kv_bits round to

// Layers among the part's units; unit 0 is the embedding, the one after the layers the head.
int LayersIn(const Part& part, const ModelShape& model) {
  const int first = std::max(part.first_unit, 1);
  const int end = std::min(part.first_unit + part.unit_count, model.layers + 1);
  return std::max(end - first, 0);
}

// Keys and values; in floating point so that no plan's numbers overflow.
size_t CacheBytes(const ModelShape& model, int layers, int context, int bits) {
  constexpr double kMost = 1e18;
  const double bytes =
      2.0 * layers * model.kv_heads * model.head_dim * static_cast<double>(context) * bits / 8;
  return static_cast<size_t>(std::min(bytes, kMost));
}

// The weights that a CPU part's tape reads. What is wrong with a tape its executor says.
Result<void> AddWeights(const Package& package, const Part& part, std::set<std::string>& names) {
  for (const std::string& file : part.files) {
    const Json tape = TRY(ParseJson(TRY(package.ReadText(file)), file));
    if (!tape.is_object() || !tape.contains("steps")) continue;
    for (const Json& step : tape["steps"]) {
      if (!step.is_object() || !step.contains("weights")) continue;
      for (const Json& name : step["weights"])
        if (name.is_string()) names.insert(name.get<std::string>());
    }
  }
  return {};
}

size_t WeightBytes(const Package& package, const std::set<std::string>& names) {
  size_t bytes = 0;
  for (const WeightEntry& entry : package.weights())
    if (names.contains(entry.name)) bytes += entry.bytes;
  return bytes;
}

std::string Readable(size_t bytes) {
  const auto count = static_cast<double>(bytes);
  return bytes < (1 << 20) ? fmt::format("{:.1f} KiB", count / (1 << 10))
                           : fmt::format("{:.1f} MiB", count / (1 << 20));
}

Failure TooLarge(const MemoryNeed& need, size_t limit, bool is_given) {
  const std::string spill_fill = need.spill_fill ? Readable(*need.spill_fill) : "unknown";
  return Environment("variant '{}' needs more memory than there is", need.variant)
      .Want("at most {} ({})", Readable(limit), is_given ? "the limit given" : "available now")
      .Got(
          "{}: binaries {} (largest shard {}), KV cache of {} positions {}, spill-fill {}, mapped "
          "weights {}{}",
          Readable(is_given ? need.total() : need.resident()), Readable(need.binaries),
          Readable(need.largest_shard), need.context, Readable(need.kv_cache), spill_fill,
          Readable(need.mapped_weights), is_given ? "" : " (not counted)")
      .Remedy("Choose another variant{}, or {}",
              need.soc.empty() ? ", a shorter --context" : " or convert with a shorter --context",
              is_given ? "raise --memory" : "close other programs");
}

}  // namespace

Result<MemoryNeed> NeedOf(const Package& package, const Variant& variant, int context) {
  MemoryNeed need{.variant = variant.name, .soc = variant.soc, .context = context};
  need.spill_fill = 0;
  std::set<std::string> binaries, weights;
  const ModelShape& model = package.plan().model;
  for (const Part& part : variant.parts) {
    const bool cpu = part.backend == kCpuBackend;
    const int bits = cpu ? kCpuCacheBits : package.manifest().kv_bits;
    need.kv_cache += CacheBytes(model, LayersIn(part, model), context, bits);
    if (cpu) {
      TRY(AddWeights(package, part, weights));
      continue;
    }
    binaries.insert(part.files.begin(), part.files.end());
    if (need.spill_fill && part.spill_fill_bytes)
      *need.spill_fill += static_cast<size_t>(*part.spill_fill_bytes);
    else
      need.spill_fill.reset();
  }
  for (const std::string& file : binaries) {
    const size_t bytes = package.files().at(file);
    need.binaries += bytes;
    need.largest_shard = std::max(need.largest_shard, bytes);
  }
  need.mapped_weights = WeightBytes(package, weights);
  return need;
}

Result<void> CheckMemory(const Package& package, const Variant& variant,
                         const EngineOptions& options) {
  int context = 0;
  for (const StageShape& stage : variant.stages) context = std::max(context, stage.context);
  // The CPU's cache takes memory only as far as it is filled; an NPU's graphs have theirs whole.
  const bool shorter = options.context > 0 && options.context < context;
  if (variant.soc.empty() && shorter) context = options.context;
  const MemoryNeed need = TRY(NeedOf(package, variant, context));
  if (options.memory_limit > 0) {
    if (need.total() > options.memory_limit) return TooLarge(need, options.memory_limit, true);
    return {};
  }
  const size_t available = AvailableMemoryBytes();
  if (available > 0 && need.resident() > available) return TooLarge(need, available, false);
  return {};
}

Result<std::vector<MemoryNeed>> MemoryNeeds(const std::filesystem::path& path) {
  const auto package = TRY(Package::Open(path, {.check_files = false}));
  std::vector<MemoryNeed> needs;
  for (const Variant& variant : package->plan().variants) {
    std::set<int> contexts;
    for (const StageShape& stage : variant.stages) contexts.insert(stage.context);
    for (const int context : contexts) needs.push_back(TRY(NeedOf(*package, variant, context)));
  }
  return needs;
}

std::string MemoryNeedJson(const MemoryNeed& need) {
  OrderedJson json = {{"variant", need.variant},
                      {"soc", need.soc},
                      {"context", need.context},
                      {"binaries_bytes", need.binaries},
                      {"largest_shard_bytes", need.largest_shard},
                      {"kv_cache_bytes", need.kv_cache},
                      {"spill_fill_bytes", nullptr},
                      {"mapped_weights_bytes", need.mapped_weights},
                      {"total_bytes", need.total()}};
  if (need.spill_fill) json["spill_fill_bytes"] = *need.spill_fill;
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

size_t AvailableMemory() { return AvailableMemoryBytes(); }

}  // namespace hexlane
