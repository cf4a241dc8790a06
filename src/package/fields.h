// Reading the package's own JSON: fields with ranges, and names of files inside a package.
#ifndef HEXLANE_PACKAGE_FIELDS_H_
#define HEXLANE_PACKAGE_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hexlane {

struct IntRange {
  int64_t min = 0;
  int64_t max = 0;
};

// object[key] as an integer in `range`, else kCorrupt.
Result<int64_t> IntField(const Json& object, std::string_view key, IntRange range,
                         std::string_view where);

// object[key] as a string that is not empty, else kCorrupt.
Result<std::string> TextField(const Json& object, std::string_view key, std::string_view where);

// object[key] as an array of at most `max` elements, else kCorrupt.
Result<const Json*> ListField(const Json& object, std::string_view key, size_t max,
                              std::string_view where);

// Whether `name` can only mean a file below the package: relative, '/' between components, none of
// them empty, "." or "..", no backslash, no control character, at most 255 bytes.
bool IsPackageFileName(std::string_view name);
Result<void> CheckPackageFileName(std::string_view name, std::string_view where);

// JSON text, indented by 2; bytes that are not UTF-8 (paths may hold any) are replaced.
std::string ToText(const Json& json);

}  // namespace hexlane

#endif  // HEXLANE_PACKAGE_FIELDS_H_
