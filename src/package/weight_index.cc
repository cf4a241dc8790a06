#include <algorithm>
#include <set>

#include "package/fields.h"
#include "package/manifest.h"

namespace hexlane {
namespace {

constexpr size_t kMaxWeights = 1 << 20;

std::string_view ElementName(const WeightEntry& entry) {
  return entry.scheme == Scheme::kPlain ? DTypeName(entry.dtype) : Info(entry.scheme).name;
}

// "type" is the name of a DType (plain elements) or of a quantisation scheme.
Result<void> ReadType(const Json& json, std::string_view where, WeightEntry& entry) {
  const std::string type = TRY(TextField(json, "type", where));
  if (const auto dtype = DTypeFromName(type)) {
    entry.dtype = *dtype;
    return {};
  }
  const auto scheme = SchemeFromName(type);
  if (!scheme || *scheme == Scheme::kPlain)
    return Unsupported("unknown weight type '{}'", type.substr(0, 80)).At("{}", where);
  entry.scheme = *scheme;
  return {};
}

Result<Shape> ReadShape(const Json& json, std::string_view where) {
  std::vector<int64_t> dims;
  for (const Json& dim : *TRY(ListField(json, "shape", Shape::kMaxRank, where))) {
    const auto value = internal::JsonAs<int64_t>(dim);
    if (!value || *value < 1) return internal::FieldFailure(&dim, "shape", where, "dimensions > 0");
    dims.push_back(*value);
  }
  TRY(CheckedElements(dims));
  return Shape(dims);
}

// Plain elements: exact. Packed ones: at least their bits, at most as much again and a constant for
// scales and padding; kernels/pack knows the exact figure and the executor compares it.
Result<void> CheckSize(const WeightEntry& entry, std::string_view where) {
  const auto elements = static_cast<unsigned __int128>(entry.shape.elements());
  const bool plain = entry.scheme == Scheme::kPlain;
  if (!plain && entry.shape.rank() != 2)
    return Corrupt("a quantised weight is not a matrix").At("{}", where).Got("{}", entry.shape);
  const unsigned __int128 least =
      plain ? elements * DTypeBytes(entry.dtype) : elements * Info(entry.scheme).bits / 8;
  const unsigned __int128 most =
      plain ? least : 2 * least + 64 * (static_cast<unsigned __int128>(entry.shape[0]) + 64);
  if (entry.bytes >= least && entry.bytes <= most) return {};
  return Corrupt("a weight's size does not fit its shape")
      .At("{}", where)
      .Want("{} {}", ElementName(entry), entry.shape)
      .Got("{} bytes", entry.bytes);
}

Result<WeightEntry> ReadEntry(const Json& json, size_t weights_bytes, std::string_view where) {
  WeightEntry entry;
  entry.name = TRY(TextField(json, "name", where));
  const std::string at = fmt::format("{}: weight '{}'", where, entry.name);
  TRY(ReadType(json, at, entry));
  entry.shape = TRY(ReadShape(json, at));
  const auto limit = static_cast<int64_t>(weights_bytes);
  entry.offset = TRY(IntField(json, "offset", {0, limit}, at));
  entry.bytes = TRY(IntField(json, "bytes", {1, limit - static_cast<int64_t>(entry.offset)}, at));
  if (entry.offset % kWeightAlignment != 0)
    return Corrupt("offset is not a multiple of {}", kWeightAlignment)
        .At("{}", at)
        .Got("{}", entry.offset);
  TRY(CheckSize(entry, at));
  return entry;
}

Result<void> CheckDisjoint(const std::vector<WeightEntry>& entries, std::string_view where) {
  std::vector<const WeightEntry*> order;
  for (const WeightEntry& entry : entries) order.push_back(&entry);
  std::ranges::sort(order, {}, &WeightEntry::offset);
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->offset >= order[i - 1]->offset + order[i - 1]->bytes) continue;
    return Corrupt("weights overlap")
        .At("{}", where)
        .Got("'{}' and '{}' at offset {}", order[i - 1]->name, order[i]->name, order[i]->offset);
  }
  return {};
}

}  // namespace

Json WeightIndexJson(const std::vector<WeightEntry>& entries) {
  Json list = Json::array();
  for (const WeightEntry& entry : entries) {
    list.push_back({{"name", entry.name},
                    {"type", ElementName(entry)},
                    {"shape", entry.shape.dims()},
                    {"offset", entry.offset},
                    {"bytes", entry.bytes}});
  }
  return {{"weights", std::move(list)}};
}

std::string WeightIndexText(const std::vector<WeightEntry>& entries) {
  return ToText(WeightIndexJson(entries));
}

Result<std::vector<WeightEntry>> ParseWeightIndex(std::string_view text, size_t weights_bytes,
                                                  std::string_view where) {
  return ReadWeightIndex(TRY(ParseJson(text, where)), weights_bytes, where);
}

Result<std::vector<WeightEntry>> ReadWeightIndex(const Json& json, size_t weights_bytes,
                                                 std::string_view where) {
  std::vector<WeightEntry> entries;
  std::set<std::string_view> names;
  const Json& list = *TRY(ListField(json, "weights", kMaxWeights, where));
  entries.reserve(list.size());  // `names` points into the entries
  for (const Json& item : list) {
    entries.push_back(TRY(ReadEntry(item, weights_bytes, where)));
    if (!names.insert(entries.back().name).second)
      return Corrupt("weight '{}' appears twice", entries.back().name).At("{}", where);
  }
  TRY(CheckDisjoint(entries, where));
  return entries;
}

}  // namespace hexlane
