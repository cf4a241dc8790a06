#include "quant/schemes.h"

#include "formats/checkpoint.h"
#include "target/target.h"

namespace hexlane {
namespace {

constexpr QuantScheme kRows[] = {
#define QUANT_SCHEME(name, layers, vocabulary, activations, keeps_stored, summary) \
  {name, Scheme::layers, Scheme::vocabulary, DType::activations, keeps_stored, summary},
#include "quant/quant_schemes.def"
#undef QUANT_SCHEME
};

const QuantScheme& Row(std::string_view name) {
  for (const QuantScheme& row : kRows)
    if (row.name == name) return row;
  CheckFailed(__FILE__, __LINE__, "a row of quant_schemes.def");
}

bool IsFourBitBlocks(StorageType type) {
  return type == StorageType::kQ4_0 || type == StorageType::kQ4_1;
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
    four_bit += IsFourBitBlocks(tensor.type);
  }
  return Row(2 * four_bit > matrices ? "w4-exact" : "w8a16");
}

Result<void> CheckQuantOptions(const QuantOptions& options, const Target* target) {
  const bool integer = options.scheme->activations == DType::kU16;
  if (options.kv_bits != 8 && options.kv_bits != 16)
    return Usage("a KV cache of {} bits", options.kv_bits).Want("8 or 16");
  if (options.kv_bits == 8 && !integer) {
    return Usage("{} keeps keys and values in float16", options.scheme->name)
        .Got("an 8-bit KV cache")
        .Remedy("choose a scheme with integer activations (w8a16, w4a16) or a 16-bit cache");
  }
  if (options.kv_bits == 16 && integer && target && !target->has_u16_matmul()) {
    return Usage("{} cannot multiply 16-bit activations by a 16-bit KV cache", target->name)
        .Want("HTP v73 or later")
        .Remedy("use an 8-bit KV cache, or the scheme f16 or w4-exact");
  }
  return {};
}

}  // namespace hexlane
