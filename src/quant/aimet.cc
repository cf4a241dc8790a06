#include "quant/aimet.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/pack/pack.h"

namespace hexlane {
namespace {

// What an entry says, whichever version it is of; of a list of channels, the first.
struct Entry {
  std::string name;
  std::string where;
  int64_t bits = 0;
  bool is_float = false;
  bool symmetric = true;
  bool lpbq = false;
  int64_t block = 0;  // 0: none
  std::optional<MinMax> range;
};

Result<bool> ReadFlag(const Json& json, std::string_view key, std::string_view where) {
  if (!json.contains(key)) return true;
  if (json.at(key).is_boolean()) return json.at(key).get<bool>();
  const auto text = TRY(JsonField<std::string>(json, key, where));
  return text == "True" || text == "true";  // Python's spelling, version 0.6.1
}

Result<bool> IsFloatType(const Json& json, std::string_view where) {
  const auto dtype = TRY(JsonFieldOr<std::string>(json, "dtype", "int", where));
  if (dtype == "int" || dtype == "INT") return false;
  if (dtype == "float" || dtype == "FLOAT") return true;
  return InvalidInput("dtype '{}' is not known", dtype).At("{}", where).Want("int or float");
}

// q + offset runs from offset to offset + 2^bits - 1.
MinMax RangeOfGrid(double scale, double offset, int64_t bits) {
  const double most = offset + std::ldexp(1.0, static_cast<int>(bits)) - 1;
  return {static_cast<float>(scale * offset), static_cast<float>(scale * most)};
}

Result<Entry> ReadEntry061(const std::string& name, const Json& list, const std::string& where) {
  if (!list.is_array() || list.empty())
    return Corrupt("an encoding is no list of channels").At("{}", where);
  const Json& json = list.front();
  Entry entry{.name = name, .where = where};
  entry.bits = TRY(JsonField<int64_t>(json, "bitwidth", where));
  entry.is_float = TRY(IsFloatType(json, where));
  if (entry.is_float) return entry;
  entry.symmetric = TRY(ReadFlag(json, "is_symmetric", where));
  entry.range = MinMax{static_cast<float>(TRY(JsonField<double>(json, "min", where))),
                       static_cast<float>(TRY(JsonField<double>(json, "max", where)))};
  return entry;
}

Result<double> FirstOf(const Json& json, std::string_view key, const std::string& where) {
  const Json& list = *TRY(JsonArray(json, key, where));
  if (!list.empty() && list.front().is_number()) return list.front().get<double>();
  return Corrupt("'{}' is no list of numbers", key).At("{}", where);
}

Result<Entry> ReadEntry100(const Json& json, const std::string& where) {
  Entry entry{.name = TRY(JsonField<std::string>(json, "name", where)), .where = where};
  entry.bits = TRY(JsonField<int64_t>(json, "bw", where));
  entry.is_float = TRY(IsFloatType(json, where));
  if (entry.is_float) return entry;
  entry.symmetric = TRY(ReadFlag(json, "is_sym", where));
  entry.range = RangeOfGrid(TRY(FirstOf(json, "scale", where)), TRY(FirstOf(json, "offset", where)),
                            entry.bits);
  entry.lpbq = TRY(JsonFieldOr<std::string>(json, "enc_type", "", where)) == "LPBQ";
  if (entry.lpbq) entry.bits = TRY(JsonField<int64_t>(json, "compressed_bw", where));
  entry.block = TRY(JsonFieldOr<int64_t>(json, "block_size", 0, where));
  return entry;
}

// 0.6.1 has an object by name, 1.0.0 a list.
Result<std::vector<Entry>> ReadEntries(const Json& json, std::string_view key,
                                       std::string_view file) {
  std::vector<Entry> entries;
  if (!json.contains(key)) return entries;
  const Json& all = json.at(key);
  if (!all.is_object() && !all.is_array())
    return Corrupt("'{}' is neither an object nor a list", key).At("{}", file);
  size_t index = 0;
  for (const auto& [name, value] : all.items()) {
    if (all.is_object())
      entries.push_back(
          TRY(ReadEntry061(name, value, fmt::format("{}: {}['{}']", file, key, name))));
    else
      entries.push_back(TRY(ReadEntry100(value, fmt::format("{}: {}[{}]", file, key, index++))));
  }
  return entries;
}

// How unlike an entry a row of schemes.def of the same width is: blocks count before kinds.
int64_t Unlikeness(const Entry& entry, Scheme scheme) {
  const SchemeInfo& info = Info(scheme);
  ScaleKind kind = entry.lpbq ? ScaleKind::kInteger : ScaleKind::kFloat;
  if (!entry.symmetric && entry.block > 0) kind = ScaleKind::kAffine;
  const int64_t blocks = std::abs(info.block - entry.block);
  // With HTP's integer activations float and affine blocks do not go: integer scales come next.
  const int64_t kinds = info.scale == kind ? 0 : info.scale == ScaleKind::kInteger ? 1 : 2;
  return 4 * blocks + kinds;
}

Result<Scheme> SchemeFor(const Entry& entry) {
  if (entry.is_float) return Scheme::kPlain;
  std::optional<Scheme> best;
  for (const Scheme scheme : AllSchemes()) {
    if (Info(scheme).bits != entry.bits) continue;
    if (!best || Unlikeness(entry, scheme) < Unlikeness(entry, *best)) best = scheme;
  }
  if (best) return *best;
  return InvalidInput("no weights have {} bits", entry.bits)
      .At("{}", entry.where)
      .Want("integers of 3, 4 or 8 bits, or float")
      .Remedy("Give '{}' 8 bits", entry.name);
}

Result<DType> ActivationFor(const Entry& entry) {
  if (entry.is_float) return DType::kF16;
  if (entry.bits == 8) return DType::kU8;
  if (entry.bits == 16) return DType::kU16;
  return InvalidInput("no values have {} bits", entry.bits)
      .At("{}", entry.where)
      .Want("integers of 8 or 16 bits, or float");
}

Result<void> CheckRange(const Entry& entry) {
  if (!entry.range || IsRange(*entry.range)) return {};
  return InvalidInput("the encoding of '{}' has no range", entry.name)
      .At("{}", entry.where)
      .Want("min ≤ 0 ≤ max, min < max")
      .Got("{} to {}", entry.range->min, entry.range->max);
}

}  // namespace

bool IsAimet(const Json& json) {
  return json.contains("param_encodings") || json.contains("activation_encodings") ||
         json.contains("version");
}

Result<std::vector<OverrideRule>> ReadAimet(const Json& json, std::string_view where) {
  const auto version = TRY(JsonFieldOr<std::string>(json, "version", "0.6.1", where));
  if (version != "1.0.0" && !version.starts_with("0."))
    return Unsupported("encodings of version {}", version).At("{}", where).Want("0.6.1 or 1.0.0");
  std::vector<OverrideRule> rules;
  for (const Entry& entry : TRY(ReadEntries(json, "param_encodings", where)))
    rules.push_back({.pattern = entry.name,
                     .gives = {.weights = TRY(SchemeFor(entry)), .rule = entry.where},
                     .allows_vectors = true});
  for (const Entry& entry : TRY(ReadEntries(json, "activation_encodings", where))) {
    TRY(CheckRange(entry));
    rules.push_back(
        {.pattern = entry.name,
         .gives = {
             .activations = TRY(ActivationFor(entry)), .range = entry.range, .rule = entry.where}});
  }
  return rules;
}

namespace {

Json FloatEntry(std::string_view name, int bits) {
  return {{"name", name}, {"dtype", "FLOAT"}, {"bw", bits}, {"enc_type", "PER_TENSOR"}};
}

// Of the middle of `bits` bits: zero is q = 2^(bits - 1).
int32_t MiddleOffset(int bits) { return -(1 << (bits - 1)); }

// A block's minimum as a multiple of its scale.
std::vector<int32_t> AffineOffsets(const QuantizedMatrix& matrix) {
  std::vector<int32_t> offsets;
  for (size_t i = 0; i < matrix.scales.size(); ++i) {
    const double scale = matrix.scales[i];
    offsets.push_back(scale > 0 ? static_cast<int32_t>(std::lrint(matrix.mins[i] / scale)) : 0);
  }
  return offsets;
}

}  // namespace

Json AimetWeight(std::string_view name, const TensorView& view) {
  if (view.scheme == Scheme::kPlain) return FloatEntry(name, 16);
  constexpr int kBlockScaleBits = 4;  // of LPBQ: 1..16
  const SchemeInfo& info = Info(view.scheme);
  const QuantizedMatrix matrix = UnpackScales(view);
  const bool lpbq = info.scale == ScaleKind::kInteger, affine = info.scale == ScaleKind::kAffine;
  const int bits = info.bits + (lpbq ? kBlockScaleBits : 0);
  const std::string_view type = lpbq ? "LPBQ" : info.block > 0 ? "PER_BLOCK" : "PER_CHANNEL";
  Json entry = {{"name", name},     {"dtype", "INT"},    {"bw", bits},
                {"enc_type", type}, {"is_sym", !affine}, {"scale", matrix.scales}};
  entry["offset"] = affine ? AffineOffsets(matrix)
                           : std::vector<int32_t>(matrix.scales.size(), MiddleOffset(bits));
  if (info.block > 0) entry["block_size"] = info.block;
  if (!lpbq) return entry;
  entry["compressed_bw"] = info.bits;
  entry["per_block_int_scale"] = matrix.block_scales;
  return entry;
}

Json AimetValue(std::string_view name, const Encoding& encoding) {
  const auto bits = static_cast<int>(8 * DTypeBytes(encoding.dtype));
  if (!encoding.is_integer()) return FloatEntry(name, bits);
  return {{"name", name},
          {"dtype", "INT"},
          {"bw", bits},
          {"enc_type", "PER_TENSOR"},
          {"is_sym", encoding.offset == MiddleOffset(bits)},
          {"scale", Json::array({encoding.scale})},
          {"offset", Json::array({encoding.offset})}};
}

}  // namespace hexlane
