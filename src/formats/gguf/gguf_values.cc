#include "formats/gguf/gguf_values.h"

#include <iterator>

namespace hexlane {
namespace {

constexpr int kMaxArrayDepth = 8;

// By GgufType: its name, and the bytes of a scalar or the fewest that a string or an array can
// take.
struct TypeRow {
  std::string_view name;
  uint64_t min_bytes;
};
constexpr TypeRow kTypes[] = {
    {"u8", 1},   {"i8", 1},     {"u16", 2},    {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 8}, {"array", 12}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};

// 0: no such type.
uint64_t MinBytes(uint32_t type) { return type < std::size(kTypes) ? kTypes[type].min_bytes : 0; }

template <typename T>
Result<Json> ReadNumber(ByteReader& in) {
  return Json(TRY(in.Read<T>("value")));
}

Result<Json> ReadBool(ByteReader& in) {
  const uint8_t value = TRY(in.Read<uint8_t>("value"));
  if (value > 1) return in.Bad("bad truth value", in.offset() - 1).Want("0 or 1").Got("{}", value);
  return Json(value == 1);
}

Result<Json> ReadText(ByteReader& in) {
  return Json(ReplaceInvalidUtf8(TRY(in.ReadString("string"))));
}

Result<Json> ReadValue(ByteReader& in, uint32_t type, GgufArray* array, int depth);

Result<void> SkipElements(ByteReader& in, const GgufArray& array, int depth) {
  const auto type = static_cast<GgufType>(array.type);
  if (type != GgufType::kString && type != GgufType::kArray)
    return in.Skip(array.count * MinBytes(array.type), "array");  // CheckCount excludes overflow
  for (uint64_t i = 0; i < array.count; ++i) {
    if (type == GgufType::kString)
      TRY(in.ReadString("array"));
    else
      TRY(ReadValue(in, array.type, nullptr, depth + 1));
  }
  return {};
}

Result<Json> ReadArray(ByteReader& in, GgufArray* array, int depth) {
  GgufArray head;
  const uint64_t start = in.offset();
  head.type = TRY(in.Read<uint32_t>("array's element type"));
  head.count = TRY(in.Read<uint64_t>("array's length"));
  head.offset = in.offset();
  if (array != nullptr) *array = head;
  if (depth >= kMaxArrayDepth)
    return in.Bad("arrays nest too deep", start).Want("at most {} levels", kMaxArrayDepth);
  if (MinBytes(head.type) == 0)
    return in.Bad("unknown element type", start).Want("0..12").Got("{}", head.type);
  TRY(in.CheckCount(head.count, MinBytes(head.type), "array's length"));
  if (head.count > kMaxGgufArray) {
    TRY(SkipElements(in, head, depth));
    return Json(Json::value_t::discarded);
  }
  Json values = Json::array();
  for (uint64_t i = 0; i < head.count; ++i) {
    Json value = TRY(ReadValue(in, head.type, nullptr, depth + 1));
    values.push_back(value.is_discarded() ? Json() : std::move(value));
  }
  return values;
}

Result<Json> ReadValue(ByteReader& in, uint32_t type, GgufArray* array, int depth) {
  switch (static_cast<GgufType>(type)) {
    case GgufType::kU8: return ReadNumber<uint8_t>(in);
    case GgufType::kI8: return ReadNumber<int8_t>(in);
    case GgufType::kU16: return ReadNumber<uint16_t>(in);
    case GgufType::kI16: return ReadNumber<int16_t>(in);
    case GgufType::kU32: return ReadNumber<uint32_t>(in);
    case GgufType::kI32: return ReadNumber<int32_t>(in);
    case GgufType::kF32: return ReadNumber<float>(in);
    case GgufType::kU64: return ReadNumber<uint64_t>(in);
    case GgufType::kI64: return ReadNumber<int64_t>(in);
    case GgufType::kF64: return ReadNumber<double>(in);
    case GgufType::kBool: return ReadBool(in);
    case GgufType::kString: return ReadText(in);
    case GgufType::kArray: return ReadArray(in, array, depth);
  }
  return in.Bad("unknown value type").Want("0..12").Got("{}", type);
}

}  // namespace

std::string_view GgufTypeName(uint32_t type) {
  return type < std::size(kTypes) ? kTypes[type].name : "unknown";
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

Result<Json> ReadGgufValue(ByteReader& in, uint32_t type, GgufArray* array) {
  return ReadValue(in, type, array, 0);
}

}  // namespace hexlane
