#include "quant/aimet.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "kernels/pack/pack.h"

namespace hexlane {
namespace {

// What an entry says, whichever version it is of.
struct Entry {
  std::string name;
  std::string where;
  int64_t bits = 0;
  bool is_float = false;
  bool symmetric = true;
  bool lpbq = false;
  MatrixScales scales;
  std::optional<MinMax> range;  // of the first channel
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

// Real numbers are whole steps: scale · (q + offset).
Result<void> CheckSteps(const Entry& entry, std::span<const double> scales,
                        std::span<const double> offsets) {
  for (const double scale : scales) {
    const auto stored = static_cast<float>(scale);
    if (stored > 0 && std::isfinite(stored)) continue;
    return InvalidInput("a scale of '{}' is no step", entry.name)
        .At("{}", entry.where)
        .Want("a finite number above 0")
        .Got("{}", scale);
  }
  for (const double offset : offsets) {
    if (offset == std::floor(offset)) continue;
    return InvalidInput("an offset of '{}' is no integer", entry.name)
        .At("{}", entry.where)
        .Want("a number of steps")
        .Got("{}", offset);
  }
  return {};
}

// Width and kind of a channel; all of a tensor have the same.
Result<void> ReadWidth(const Json& channel, bool is_first, Entry& entry) {
  const auto bits = TRY(JsonField<int64_t>(channel, "bitwidth", entry.where));
  const bool is_float = TRY(IsFloatType(channel, entry.where));
  if (is_first) entry.bits = bits, entry.is_float = is_float;
  if (bits == entry.bits && is_float == entry.is_float) return {};
  const auto name = [](int64_t n, bool real) {
    return fmt::format("{} of {} bits", real ? "float" : "int", n);
  };
  return InvalidInput("channels of '{}' have different types", entry.name)
      .At("{}", entry.where)
      .Want("{}, as the first", name(entry.bits, entry.is_float))
      .Got("{}", name(bits, is_float));
}

Result<Entry> ReadEntry061(const std::string& name, const Json& list, const std::string& where) {
  if (!list.is_array() || list.empty())
    return Corrupt("an encoding is no list of channels").At("{}", where);
  Entry entry{.name = name, .where = where};
  entry.scales.count = std::ssize(list);
  std::vector<double> scales, offsets;
  for (const Json& channel : list) {
    TRY(ReadWidth(channel, &channel == &list.front(), entry));
    if (entry.is_float) continue;
    scales.push_back(TRY(JsonFieldOr<double>(channel, "scale", 1, where)));
    offsets.push_back(TRY(JsonFieldOr<double>(channel, "offset", 0, where)));
  }
  TRY(CheckSteps(entry, scales, offsets));
  if (entry.is_float) return entry;
  const Json& json = list.front();
  entry.symmetric = TRY(ReadFlag(json, "is_symmetric", where));
  entry.range = MinMax{static_cast<float>(TRY(JsonField<double>(json, "min", where))),
                       static_cast<float>(TRY(JsonField<double>(json, "max", where)))};
  return entry;
}

Result<std::vector<double>> Numbers(const Json& json, std::string_view key, const Entry& entry) {
  const Json& list = *TRY(JsonArray(json, key, entry.where));
  const bool good = !list.empty() && std::all_of(list.begin(), list.end(), [](const Json& value) {
    return value.is_number();
  });
  if (good) return list.get<std::vector<double>>();
  return Corrupt("'{}' of '{}' is no list of numbers", key, entry.name).At("{}", entry.where);
}

Result<void> ReadBlocks(const Json& json, std::string_view type, Entry& entry) {
  const bool has_size = json.contains("block_size") && !json.at("block_size").is_null();
  const bool is_blocked = type.empty() ? has_size : type == "PER_BLOCK" || type == "LPBQ";
  if (is_blocked != has_size) {
    return InvalidInput("'{}' is {} {} block_size", entry.name, type, has_size ? "with" : "without")
        .At("{}", entry.where)
        .Want("a block_size for PER_BLOCK and LPBQ alone");
  }
  if (!is_blocked) return {};
  entry.scales.block = TRY(JsonField<int64_t>(json, "block_size", entry.where));
  entry.scales.per_block = type != "LPBQ";  // which has integers for blocks, scales for rows
  if (entry.scales.block > 0) return {};
  return InvalidInput("the block_size of '{}' is not positive", entry.name)
      .At("{}", entry.where)
      .Want("a number of columns")
      .Got("{}", entry.scales.block);
}

// "": not said.
Result<std::string> ReadEncType(const Json& json, const Entry& entry) {
  constexpr std::array<std::string_view, 4> kTypes = {"PER_TENSOR", "PER_CHANNEL", "PER_BLOCK",
                                                      "LPBQ"};
  const auto type = TRY(JsonFieldOr<std::string>(json, "enc_type", "", entry.where));
  if (type.empty() || std::ranges::find(kTypes, type) != kTypes.end()) return type;
  return InvalidInput("enc_type '{}' of '{}' is not known", type, entry.name)
      .At("{}", entry.where)
      .Want("one of: {}", fmt::join(kTypes, ", "));
}

// Scales, offsets and what follows from the first of them.
Result<void> ReadGrid(const Json& json, std::string_view type, Entry& entry) {
  const std::vector<double> scales = TRY(Numbers(json, "scale", entry));
  const std::vector<double> offsets = TRY(Numbers(json, "offset", entry));
  TRY(CheckSteps(entry, scales, offsets));
  const size_t want = type == "PER_TENSOR" ? 1 : scales.size();
  if (scales.size() != want || offsets.size() != want) {
    return InvalidInput("scales and offsets of '{}' do not fit", entry.name)
        .At("{}", entry.where)
        .Want("{} of each", want)
        .Got("{} and {}", scales.size(), offsets.size());
  }
  entry.scales.count = std::ssize(scales);
  entry.range = RangeOfGrid(scales.front(), offsets.front(), entry.bits);
  return {};
}

Result<Entry> ReadEntry100(const Json& json, const std::string& where) {
  Entry entry{.name = TRY(JsonField<std::string>(json, "name", where)), .where = where};
  entry.bits = TRY(JsonField<int64_t>(json, "bw", where));
  entry.is_float = TRY(IsFloatType(json, where));
  const std::string type = TRY(ReadEncType(json, entry));
  if (entry.is_float) return entry;
  entry.symmetric = TRY(ReadFlag(json, "is_sym", where));
  TRY(ReadBlocks(json, type, entry));
  TRY(ReadGrid(json, type, entry));
  entry.lpbq = type == "LPBQ";
  if (entry.lpbq) entry.bits = TRY(JsonField<int64_t>(json, "compressed_bw", where));
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
  if (!entry.symmetric && entry.scales.block > 0) kind = ScaleKind::kAffine;
  const int64_t blocks = std::abs(info.block - entry.scales.block);
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

Result<void> CheckValue(const Entry& entry) {
  if (entry.scales.count != 1 || entry.scales.block != 0) {
    return InvalidInput("the values of '{}' have several scales", entry.name)
        .At("{}", entry.where)
        .Want("one")
        .Got("{}", entry.scales.count);
  }
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
                     .allows_vectors = true,
                     .scales = entry.scales});
  for (const Entry& entry : TRY(ReadEntries(json, "activation_encodings", where))) {
    TRY(CheckValue(entry));
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

// 2^bits steps upwards from `offset` steps.
struct Steps {
  float scale;
  int32_t offset;
};

// For q · scale + least: the same numbers but that the lowest is rounded to a step. Integers that
// were kept as another tool stored them can have scales of 0 and below.
Steps StepsOf(double scale, double least, int bits) {
  if (scale < 0) least += scale * (std::ldexp(1.0, bits) - 1);
  if (scale == 0) scale = least == 0 ? 1 : least;
  scale = std::abs(scale);
  return {static_cast<float>(scale), static_cast<int32_t>(std::lrint(least / scale))};
}

// Of each of a matrix's scales.
Steps StepsOf(const QuantizedMatrix& matrix, size_t i, int bits) {
  const double scale = matrix.scales[i];
  if (!matrix.mins.empty()) return StepsOf(scale, matrix.mins[i], bits);
  if (scale == 0) return {1, MiddleOffset(bits)};
  return StepsOf(scale, scale * MiddleOffset(bits), bits);
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
                {"enc_type", type}, {"is_sym", !affine}, {"scale", Json::array()}};
  for (size_t i = 0; i < matrix.scales.size(); ++i) {
    const Steps steps = StepsOf(matrix, i, bits);
    entry["scale"].push_back(steps.scale);
    entry["offset"].push_back(steps.offset);
  }
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
