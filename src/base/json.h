// JSON from files that nobody vouches for: bounded depth, byte offsets in errors, typed field
// access that names the field. The value type is nlohmann::json.
#ifndef HEXLANE_BASE_JSON_H_
#define HEXLANE_BASE_JSON_H_

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 64;

// kCorrupt with "<where>: offset n" when the text is not JSON or nests deeper than kMaxJsonDepth.
Result<Json> ParseJson(std::string_view text, std::string_view where);

namespace internal {
Failure FieldFailure(const Json* value, std::string_view key, std::string_view where,
                     std::string_view want);
template <typename T>
std::optional<T> JsonAs(const Json& value);  // the value as T when it is one, without loss
}  // namespace internal

// object[key] as T, one of: bool, int64_t, double, std::string. kCorrupt when absent, of another
// type, or out of range; the error names `where` and the key. `object` need not be an object.
template <typename T>
Result<T> JsonField(const Json& object, std::string_view key, std::string_view where);

// The same, but `fallback` when the key is absent or null.
template <typename T>
Result<T> JsonFieldOr(const Json& object, std::string_view key, T fallback, std::string_view where);

// object[key] when it is an object / an array.
Result<const Json*> JsonObject(const Json& object, std::string_view key, std::string_view where);
Result<const Json*> JsonArray(const Json& object, std::string_view key, std::string_view where);

// Before the work whose result goes to `file`, an object with `fields`: an earlier result may be
// replaced, somebody's file (kInvalidInput) may not, and the folder must be there (kNotFound). What
// is no regular file is let through: a device, a pipe.
Result<void> CheckJsonOutput(const std::filesystem::path& file,
                             std::initializer_list<std::string_view> fields);

}  // namespace hexlane

#endif  // HEXLANE_BASE_JSON_H_
