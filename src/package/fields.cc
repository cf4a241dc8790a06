#include "package/fields.h"

#include <algorithm>

namespace hexlane {
namespace {
constexpr size_t kMaxFileName = 255;

bool IsComponent(std::string_view name) { return !name.empty() && name != "." && name != ".."; }

bool IsPrintable(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }
}  // namespace

Result<int64_t> IntField(const Json& object, std::string_view key, IntRange range,
                         std::string_view where) {
  const int64_t value = TRY(JsonField<int64_t>(object, key, where));
  if (value < range.min || value > range.max) {
    return Corrupt("field '{}' is out of range", key)
        .At("{}", where)
        .Want("{}..{}", range.min, range.max)
        .Got("{}", value);
  }
  return value;
}

Result<std::string> TextField(const Json& object, std::string_view key, std::string_view where) {
  std::string text = TRY(JsonField<std::string>(object, key, where));
  if (text.empty()) return Corrupt("field '{}' is empty", key).At("{}", where);
  return text;
}

Result<const Json*> ListField(const Json& object, std::string_view key, size_t max,
                              std::string_view where) {
  const Json* list = TRY(JsonArray(object, key, where));
  if (list->size() > max) {
    return Corrupt("list '{}' is too long", key)
        .At("{}", where)
        .Want("at most {} elements", max)
        .Got("{}", list->size());
  }
  return list;
}

bool IsPackageFileName(std::string_view name) {
  if (name.size() > kMaxFileName || !std::ranges::all_of(name, IsPrintable)) return false;
  if (name.find('\\') != std::string_view::npos) return false;
  for (;;) {
    const size_t slash = name.find('/');
    if (!IsComponent(name.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

Result<void> CheckPackageFileName(std::string_view name, std::string_view where) {
  if (IsPackageFileName(name)) return {};
  return Corrupt("bad file name")
      .At("{}", where)
      .Want("a relative path below the package, without '..'")
      .Got("'{}'", name.substr(0, kMaxFileName));
}

std::string ToText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hexlane
