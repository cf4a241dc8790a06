#include "compiler/split.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "compiler/source.h"
#include "hexlane/compiler.h"
#include "hexlane/interrupt.h"
#include "package/fields.h"
#include "package/manifest.h"
#include "runtime/memory_need.h"
#include "runtime/variants.h"
#include "target/target.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kDeliveryFile = "delivery.json";
constexpr std::string_view kDeliveryFormat = "hexlane-delivery";
constexpr size_t kMaxDeliveries = 256;
// Kept whatever the variants are, where the package has them.
constexpr std::string_view kModelFiles[] = {kWeightsFile,
                                            kWeightIndexFile,
                                            "tokenizer.json",
                                            "tokenizer_config.json",
                                            "generation_config.json",
                                            "report.json"};

// What an earlier split wrote: delivery.json and the packages that it names.
Result<std::vector<std::string>> ListEarlier(const fs::path& folder) {
  const std::string where = (folder / kDeliveryFile).string();
  const Json json = TRY(ParseJson(TRY(ReadTextFile(where)), where));
  if (TRY(JsonField<std::string>(json, "format", where)) != kDeliveryFormat)
    return Corrupt("not a delivery of Hexlane").At("{}", where);
  std::vector<std::string> names = {std::string(kDeliveryFile)};
  for (const Json& entry : *TRY(ListField(json, "packages", kMaxDeliveries, where))) {
    const std::string name = TRY(TextField(entry, "folder", where));
    TRY(CheckPackageFileName(name, where));
    for (const std::string& file : TRY(ListPackageFiles(folder / name)))
      names.push_back(name + "/" + file);
  }
  return names;
}

Json ToJson(const Delivery& delivery) {
  Json memory = Json::array();
  for (const MemoryNeed& need : delivery.memory)
    memory.push_back(Json::parse(MemoryNeedJson(need)));
  return {{"soc", delivery.soc},           {"folder", delivery.folder},
          {"bytes", delivery.bytes},       {"manifest_sha256", delivery.manifest_sha256},
          {"htp_arch", delivery.htp_arch}, {"memory", std::move(memory)}};
}

std::string DeliveryText(const Manifest& manifest, const std::vector<Delivery>& deliveries) {
  Json packages = Json::array();
  for (const Delivery& delivery : deliveries) packages.push_back(ToJson(delivery));
  return ToText({{"format", kDeliveryFormat},
                 {"format_version", 1},
                 {"hexlane_version", HEXLANE_VERSION},
                 {"source", manifest.source},
                 {"architecture", manifest.architecture},
                 {"scheme", manifest.scheme},
                 {"packages", std::move(packages)}});
}

class Splitter {
 public:
  explicit Splitter(const SplitOptions& options) : options_(options) {}

  Result<SplitReport> Run() {
    if (options_.output.empty()) return Usage("no output folder").Remedy("Give one with -o");
    package_ = TRY(OpenPackage(options_.package));  // damage must not get a new manifest
    const std::vector<std::string> socs = TRY(ChooseSocs(*package_, options_.socs));
    StagedDirectory staged = TRY(StagedDirectory::Create(
        options_.output, {.earlier = ListEarlier, .inputs = {options_.package}}));
    SplitReport report;
    for (const std::string& soc : socs) {
      if (options_.progress)
        options_.progress(
            static_cast<double>(report.deliveries.size()) / static_cast<double>(socs.size()), soc);
      report.deliveries.push_back(TRY(Write(staged.path(), soc)));
    }
    report.json = DeliveryText(package_->manifest(), report.deliveries);
    TRY(WriteFileAtomically(staged.path() / kDeliveryFile, report.json));
    TRY(staged.Commit());
    return report;
  }

 private:
  Result<Delivery> Write(const fs::path& root, const std::string& soc) const {
    const Target* target = TRY(FindTarget(soc));  // its name is a folder's from here on
    const Manifest manifest = ManifestFor(*package_, soc);
    const fs::path folder = root / target->name;
    PackageWriter writer = TRY(PackageWriter::Create(folder));
    for (const std::string& file : DeliveredFiles(*package_, manifest.plan)) {
      TRY(CheckInterrupt());
      TRY(writer.AddFile(file, TRY(package_->PathOf(file))));
    }
    TRY(writer.Finish(manifest));
    Delivery delivery{.soc = soc,
                      .folder = std::string(target->name),
                      .htp_arch = static_cast<int>(target->arch)};
    delivery.manifest_sha256 = TRY(Sha256File(folder / kManifestFile));
    delivery.memory = TRY(MemoryNeeds(folder));
    std::error_code ignored;
    for (const std::string& file : TRY(ListPackageFiles(folder)))
      delivery.bytes += fs::file_size(folder / file, ignored);
    return delivery;
  }

  const SplitOptions& options_;
  std::shared_ptr<const Package> package_;
};

}  // namespace

std::vector<std::string> NpuSocs(const Plan& plan) {
  std::vector<std::string> socs;
  for (const Variant& variant : plan.variants)
    if (IsNpu(variant) && std::ranges::find(socs, variant.soc) == socs.end())
      socs.push_back(variant.soc);
  return socs;
}

Result<std::vector<std::string>> ChooseSocs(const Package& package,
                                            const std::vector<std::string>& socs) {
  std::vector<std::string> there = NpuSocs(package.plan());
  if (there.empty()) {
    return InvalidInput("the package has no NPU variant")
        .At("{}", package.directory().string())
        .Remedy("Convert the model with --soc, e.g. --soc SM8650");
  }
  if (socs.empty()) return there;
  std::vector<std::string> chosen;
  for (const std::string& given : socs) {
    const Result<const Target*> target = FindTarget(given);
    const std::string name = target ? std::string((*target)->name) : given;
    if (std::ranges::find(there, name) == there.end()) {
      return Usage("the package has no NPU variant for SoC '{}'", given)
          .Want("one of: {}", fmt::join(there, ", "))
          .Remedy("Leave --soc out to split for all of them, or convert the model with --soc");
    }
    if (std::ranges::find(chosen, name) == chosen.end()) chosen.push_back(name);
  }
  return chosen;
}

Manifest ManifestFor(const Package& package, const std::string& soc) {
  Manifest manifest = package.manifest();
  std::erase_if(manifest.plan.variants, [&](const Variant& variant) {
    const bool is_kept = variant.soc.empty() || (variant.soc == soc && IsNpu(variant));
    return !is_kept;
  });
  if (!manifest.conversion.is_object()) manifest.conversion = Json::object();
  manifest.conversion["split_for"] = soc;
  return manifest;
}

std::vector<std::string> DeliveredFiles(const Package& package, const Plan& plan) {
  std::set<std::string> files;
  for (const Variant& variant : plan.variants) {
    for (const Part& part : variant.parts) {
      files.insert(part.files.begin(), part.files.end());
      if (!part.contract.empty()) files.insert(part.contract);
    }
  }
  for (const std::string_view file : kModelFiles)
    if (package.Has(file)) files.emplace(file);
  return {files.begin(), files.end()};
}

Result<SplitReport> SplitPackage(const SplitOptions& options) { return Splitter(options).Run(); }

}  // namespace hexlane
