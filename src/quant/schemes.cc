#include "quant/schemes.h"

#include <fmt/ranges.h>

#include <set>

#include "formats/checkpoint.h"
#include "target/target.h"

namespace hexlane {
namespace {

constexpr QuantScheme kRows[] = {
#define QUANT_SCHEME(name, layers, head, table, activations, keeps_stored, summary) \
  {name, Scheme::layers, Scheme::head, Scheme::table, DType::activations, keeps_stored, summary},
#include "quant/quant_schemes.def"
#undef QUANT_SCHEME
};

const QuantScheme& Row(std::string_view name) {
  for (const QuantScheme& row : kRows)
    if (row.name == name) return row;
  CheckFailed(__FILE__, __LINE__, "a row of quant_schemes.def");
}

// Blocks of 5 bits or more, which 8-bit ones hold well.
bool NeedsEightBits(const StoredTensor& tensor) {
  const StorageInfo& info = Info(tensor.type);
  return info.block_elements >= 32 && 8 * info.block_bytes >= 5 * info.block_elements;
}

Result<void> CheckOrder(const QuantScheme& scheme, const Checkpoint& checkpoint) {
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (!tensor.reordered()) continue;
    return Unsupported("{} cannot keep '{}': its columns are grouped by activation (desc_act)",
                       scheme.name, tensor.name)
        .At("{}", checkpoint.where())
        .Want("groups of neighbouring columns")
        .Remedy(
            "Quantise without act-order (desc_act false), or convert with --quant w4a16 or --quant "
            "w8a16, which round anew");
  }
  return {};
}

}  // namespace

std::span<const QuantScheme> AllQuantSchemes() { return kRows; }

Result<const QuantScheme*> FindQuantScheme(std::string_view name) {
  std::string known;
  for (const QuantScheme& row : kRows) {
    if (row.name == name) return &row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return Usage("scheme '{}' is not known", name).Want("one of: {}", known);
}

const QuantScheme& DefaultQuantScheme(const Checkpoint& checkpoint) {
  int64_t four_bit = 0, matrices = 0;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.shape.rank() < 2) continue;
    ++matrices;
    const std::optional<Scheme> kept = tensor.kept_as();
    four_bit += kept && Info(*kept).bits == 4;
  }
  return Row(2 * four_bit > matrices ? "w4-exact" : "w8a16");
}

Result<void> CheckStorage(const QuantScheme& scheme, const Checkpoint& checkpoint) {
  if (!scheme.keeps_stored) return {};
  TRY(CheckOrder(scheme, checkpoint));
  std::set<std::string_view> types;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.shape.rank() < 2) continue;
    if (tensor.kept_as() || NeedsEightBits(tensor)) return {};
    types.insert(Info(tensor.type).name);
  }
  return InvalidInput("{} keeps the checkpoint's own integers, and this one has none", scheme.name)
      .At("{}", checkpoint.where())
      .Want("matrices stored as Q4_0, Q4_1, Q4_K, Q5_0 … Q8_0, or by GPTQ or AWQ")
      .Got("{}", fmt::join(types, ", "))
      .Remedy("Convert with --quant w4a16 or --quant w8a16");
}

namespace {

Result<void> CheckAlgorithm(const QuantScheme& scheme, const Algorithm& algorithm) {
  if (algorithm.is_nearest()) return {};
  if (scheme.layers == Scheme::kPlain) {
    return Usage("{} rounds no weights to integers", scheme.name)
        .Got("--algorithm {}", algorithm.name())
        .Remedy("Leave --algorithm out, or choose a scheme such as w4a16");
  }
  if (scheme.keeps_stored) {
    return Usage("{} keeps the checkpoint's own blocks", scheme.name)
        .Got("--algorithm {}", algorithm.name())
        .Remedy("Leave --algorithm out, or choose a scheme such as w4a16");
  }
  if (algorithm.awq && algorithm.smooth) {
    return Usage("awq and smooth are two choices of the same factors")
        .Got("--algorithm {}", algorithm.name())
        .Remedy("Leave one of them out");
  }
  return {};
}

Result<void> CheckFinetune(const QuantScheme& scheme, const FinetuneOptions& options) {
  if (scheme.layers == Scheme::kPlain || scheme.keeps_stored) {
    return Usage("{} has no integers that training could choose", scheme.name)
        .Remedy("Choose a scheme such as w4a16 with --quant, or `hexlane convert`");
  }
  if (options.epochs < 1) return Usage("{} epochs", options.epochs).Want("at least 1");
  if (options.rank < 0) return Usage("a rank of {}", options.rank).Want("0 or more");
  const bool moves = options.learning_rate > 0 && options.learning_rate <= 1;
  if (!moves)
    return Usage("a learning rate of {}", options.learning_rate).Want("above 0, at most 1");
  return {};
}

}  // namespace

Result<void> CheckQuantOptions(const QuantOptions& options, const Target* target) {
  const bool integer = options.scheme->needs_calibration();
  if (options.kv_bits != 8 && options.kv_bits != 16)
    return Usage("a KV cache of {} bits", options.kv_bits).Want("8 or 16");
  if (options.finetune) TRY(CheckFinetune(*options.scheme, *options.finetune));
  TRY(CheckAlgorithm(*options.scheme, options.algorithm));
  if (options.kv_bits == 8 && !integer) {
    return Usage("{} keeps keys and values in float16", options.scheme->name)
        .Got("an 8-bit KV cache")
        .Remedy(
            "choose a scheme with integer activations such as w8a16 or w4a16, or a 16-bit cache");
  }
  if (options.kv_bits == 16 && integer && target && !target->has_u16_matmul()) {
    return Usage("{} cannot multiply by a 16-bit KV cache", target->name)
        .Want("HTP v73 or later")
        .Remedy("use an 8-bit KV cache, or a scheme with f16 activations such as f16 or w4-asym");
  }
  return {};
}

}  // namespace hexlane
