#include "package/manifest.h"

#include <algorithm>

#include "package/fields.h"

namespace hexlane {
namespace {

constexpr std::string_view kFormatName = "hexlane-package";
constexpr size_t kMaxFiles = 1 << 16;
constexpr size_t kMaxVendorEntries = 64;

bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> CheckVersion(const Json& json, std::string_view where) {
  const std::string format = TRY(JsonField<std::string>(json, "format", where));
  if (format != kFormatName)
    return Corrupt("not a Hexlane package")
        .At("{}", where)
        .Got("format '{}'", format.substr(0, 80));
  const int64_t version = TRY(IntField(json, "format_version", {1, 1 << 20}, where));
  if (version > kPackageFormatVersion) {
    return Unsupported("the package is newer than this Hexlane")
        .At("{}", where)
        .Want("format version {} or older", kPackageFormatVersion)
        .Got("{}", version)
        .Remedy("Update Hexlane, or convert the model again with this version");
  }
  return {};
}

Result<FileTable> FilesFromJson(const Json& json, std::string_view where) {
  FileTable files;
  if (json.size() > kMaxFiles) return Corrupt("too many files").At("{}", where);
  for (const auto& [name, entry] : json.items()) {
    TRY(CheckPackageFileName(name, where));
    const std::string entry_where = fmt::format("{}.files['{}']", where, name);
    FileRecord record;
    record.bytes = TRY(IntField(entry, "bytes", {0, int64_t{1} << 50}, entry_where));
    record.sha256 = TRY(JsonField<std::string>(entry, "sha256", entry_where));
    if (!IsSha256(record.sha256)) return Corrupt("bad SHA-256").At("{}", entry_where);
    files.emplace(name, std::move(record));
  }
  return files;
}

Result<std::map<std::string, std::string>> VendorFromJson(const Json& json,
                                                          std::string_view where) {
  std::map<std::string, std::string> vendor;
  if (json.size() > kMaxVendorEntries) return Corrupt("too many versions").At("{}", where);
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return internal::FieldFailure(&value, key, where, "a string");
    vendor[key] = value.get<std::string>();
  }
  return vendor;
}

Result<Manifest> ManifestFromJson(const Json& json, std::string_view where) {
  Manifest manifest;
  manifest.hexlane_version = TRY(JsonField<std::string>(json, "hexlane_version", where));
  manifest.source = TRY(JsonField<std::string>(json, "source", where));
  manifest.architecture = TRY(JsonField<std::string>(json, "architecture", where));
  manifest.scheme = TRY(JsonField<std::string>(json, "scheme", where));
  manifest.kv_bits = TRY(IntField(json, "kv_bits", {1, 32}, where));
  manifest.vendor = TRY(VendorFromJson(*TRY(JsonObject(json, "vendor", where)), where));
  manifest.conversion = *TRY(JsonObject(json, "conversion", where));
  manifest.plan = TRY(PlanFromJson(*TRY(JsonObject(json, "plan", where)),  //
                                   fmt::format("{}: plan", where)));
  return manifest;
}

Result<void> CheckListed(std::string_view file, const FileTable& files, std::string_view where) {
  if (files.contains(file)) return {};
  return Corrupt("the plan uses a file that the package does not list")
      .At("{}", where)
      .Got("'{}'", file);
}

Result<void> CheckPlanFiles(const Plan& plan, const FileTable& files, std::string_view where) {
  for (const Variant& variant : plan.variants) {
    for (const Part& part : variant.parts) {
      for (const std::string& file : part.files) TRY(CheckListed(file, files, where));
      if (!part.contract.empty()) TRY(CheckListed(part.contract, files, where));
    }
  }
  return {};
}

}  // namespace

std::string ManifestText(const ManifestFile& file) {
  const Manifest& manifest = file.manifest;
  Json files = Json::object();
  for (const auto& [name, record] : file.files)
    files[name] = {{"bytes", record.bytes}, {"sha256", record.sha256}};
  return ToText({
      {"format", kFormatName},
      {"format_version", kPackageFormatVersion},
      {"hexlane_version", manifest.hexlane_version},
      {"source", manifest.source},
      {"architecture", manifest.architecture},
      {"scheme", manifest.scheme},
      {"kv_bits", manifest.kv_bits},
      {"vendor", Json(manifest.vendor)},
      {"conversion", manifest.conversion.is_object() ? manifest.conversion : Json::object()},
      {"plan", ToJson(manifest.plan)},
      {"files", std::move(files)},
  });
}

Result<ManifestFile> ParseManifest(std::string_view text, std::string_view where) {
  const Json json = TRY(ParseJson(text, where));
  TRY(CheckVersion(json, where));
  ManifestFile file;
  file.manifest = TRY(ManifestFromJson(json, where));
  file.files = TRY(FilesFromJson(*TRY(JsonObject(json, "files", where)), where));
  TRY(CheckPlanFiles(file.manifest.plan, file.files, where));
  return file;
}

}  // namespace hexlane
