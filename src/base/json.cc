#include "base/json.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"

namespace hexlane {
namespace {

const Json* Find(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

template <typename T>
constexpr std::string_view kWant = "";
template <>
constexpr std::string_view kWant<bool> = "true or false";
template <>
constexpr std::string_view kWant<int64_t> = "an integer";
template <>
constexpr std::string_view kWant<double> = "a finite number";
template <>
constexpr std::string_view kWant<std::string> = "a string";

// At most 160 bytes of printable text: a message may quote a file, and a file may be one long
// string.
std::string Abbreviate(std::string_view text) {
  constexpr size_t kMost = 160;
  std::string out(text.substr(0, kMost));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > kMost ? out + "..." : out;
}

// Where the text first nests deeper than kMaxJsonDepth: checked before parsing, since a parser
// spends memory on every level.
std::optional<size_t> TooDeepAt(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace

namespace internal {

Failure FieldFailure(const Json* value, std::string_view key, std::string_view where,
                     std::string_view want) {
  std::string got = "nothing";
  if (value != nullptr) got = value->dump(-1, ' ', true, Json::error_handler_t::replace);
  return Corrupt("bad field '{}'", key).At("{}", where).Want("{}", want).Got("{}", Abbreviate(got));
}

template <>
std::optional<bool> JsonAs<bool>(const Json& value) {
  if (!value.is_boolean()) return std::nullopt;
  return value.get<bool>();
}
template <>
std::optional<int64_t> JsonAs<int64_t>(const Json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX})
    return std::nullopt;
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();  // 1e6 is written by some tools for an integer
  if (number != std::floor(number) || std::abs(number) > 9e15) return std::nullopt;
  return static_cast<int64_t>(number);
}
template <>
std::optional<double> JsonAs<double>(const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}
template <>
std::optional<std::string> JsonAs<std::string>(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

}  // namespace internal

Result<Json> ParseJson(std::string_view text, std::string_view where) {
  if (const std::optional<size_t> offset = TooDeepAt(text)) {
    return Corrupt("JSON nests too deep")
        .At("{}: offset {}", where, *offset)
        .Want("at most {} levels", kMaxJsonDepth);
  }
  if (const size_t zero = text.find('\0'); zero != text.npos) {  // the parser would stop there
    return Corrupt("not valid JSON").At("{}: offset {}", where, zero).Got("a zero byte");
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Corrupt("not valid JSON")
        .At("{}: offset {}", where, error.byte > 0 ? error.byte - 1 : 0)
        .Got("{}", Abbreviate(error.what()));
  } catch (const Json::exception& error) {  // a number too large for a double
    return Corrupt("not valid JSON").At("{}", where).Got("{}", Abbreviate(error.what()));
  }
}

template <typename T>
Result<T> JsonField(const Json& object, std::string_view key, std::string_view where) {
  const Json* value = Find(object, key);
  const std::optional<T> typed = value ? internal::JsonAs<T>(*value) : std::nullopt;
  if (!typed) return internal::FieldFailure(value, key, where, kWant<T>);
  return *typed;
}

template <typename T>
Result<T> JsonFieldOr(const Json& object, std::string_view key, T fallback,
                      std::string_view where) {
  const Json* value = Find(object, key);
  if (value == nullptr || value->is_null()) return fallback;
  return JsonField<T>(object, key, where);
}

template Result<bool> JsonField<bool>(const Json&, std::string_view, std::string_view);
template Result<int64_t> JsonField<int64_t>(const Json&, std::string_view, std::string_view);
template Result<double> JsonField<double>(const Json&, std::string_view, std::string_view);
template Result<std::string> JsonField<std::string>(const Json&, std::string_view,
                                                    std::string_view);
template Result<bool> JsonFieldOr(const Json&, std::string_view, bool, std::string_view);
template Result<int64_t> JsonFieldOr(const Json&, std::string_view, int64_t, std::string_view);
template Result<double> JsonFieldOr(const Json&, std::string_view, double, std::string_view);
template Result<std::string> JsonFieldOr(const Json&, std::string_view, std::string,
                                         std::string_view);

Result<const Json*> JsonObject(const Json& object, std::string_view key, std::string_view where) {
  const Json* value = Find(object, key);
  if (value == nullptr || !value->is_object())
    return internal::FieldFailure(value, key, where, "an object");
  return value;
}

Result<const Json*> JsonArray(const Json& object, std::string_view key, std::string_view where) {
  const Json* value = Find(object, key);
  if (value == nullptr || !value->is_array())
    return internal::FieldFailure(value, key, where, "an array");
  return value;
}

Result<void> CheckJsonOutput(const std::filesystem::path& file,
                             std::initializer_list<std::string_view> fields) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::absolute(file, error).parent_path();
  if (!fs::is_directory(folder, error))
    return NotFound("there is no folder '{}'", folder.string()).Remedy("Make it first");
  if (fs::is_directory(file, error))
    return InvalidInput("'{}' is a folder", file.string()).Want("a file").Remedy("Add its name");
  if (!fs::is_regular_file(file, error)) return {};
  const Result<std::string> text = ReadTextFile(file);
  const Result<Json> earlier = text ? ParseJson(*text, "") : Result<Json>(Json());
  const auto has = [&](std::string_view field) { return earlier->contains(field); };
  if (earlier && earlier->is_object() && std::ranges::all_of(fields, has)) return {};
  return InvalidInput("'{}' is there and is not an earlier result", file.string())
      .Remedy("Name another file, or remove it");
}

}  // namespace hexlane
