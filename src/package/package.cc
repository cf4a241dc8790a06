#include "package/package.h"

#include "package/checked_files.h"
#include "package/fields.h"
#include "package/manifest.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxManifestBytes = 64u << 20;
constexpr std::string_view kDamaged = "The package is damaged: convert the model again";

Result<ManifestFile> ReadManifest(const fs::path& directory) {
  const fs::path path = directory / kManifestFile;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return NotFound("'{}' is not a Hexlane package", directory.string())
        .At("{}", path.string())
        .Remedy("A package is the folder that hexlane convert wrote");
  }
  return ParseManifest(TRY(ReadTextFile(path, kMaxManifestBytes)), path.string());
}

Result<void> CheckBytes(const fs::path& path, size_t want) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return Corrupt("a file of the package is missing")
        .At("{}", path.string())
        .Remedy("{}", kDamaged);
  const auto bytes = fs::file_size(path, error);
  if (error || bytes != want) {
    return Corrupt("a file of the package has the wrong size")
        .At("{}", path.string())
        .Want("{} bytes", want)
        .Got("{}", bytes)
        .Remedy("{}", kDamaged);
  }
  return {};
}

Result<void> CheckHash(const fs::path& path, const std::string& want) {
  const std::string got = TRY(Sha256File(path));
  if (got == want) return {};
  return Corrupt("a file of the package was changed")
      .At("{}", path.string())
      .Want("SHA-256 {}", want)
      .Got("{}", got)
      .Remedy("{}", kDamaged);
}

}  // namespace

Result<std::shared_ptr<const Package>> Package::Open(const fs::path& directory,
                                                     const OpenOptions& options) {
  ManifestFile file = TRY(ReadManifest(directory));
  const auto package = std::make_shared<Package>();
  package->directory_ = directory;
  package->manifest_ = std::move(file.manifest);
  for (const auto& [name, record] : file.files) {
    TRY(CheckBytes(directory / name, record.bytes));
    package->files_.emplace(name, record.bytes);
  }
  if (options.check_files) TRY(package->CheckFiles(file, options));
  TRY(package->OpenWeights());
  return package;
}

Result<void> Package::CheckFiles(const ManifestFile& file, const OpenOptions& options) {
  uint64_t done = 0, total = 0;
  for (const auto& [name, record] : file.files) total += record.bytes;
  CheckedFiles checked(options.checked_list);
  for (const auto& [name, record] : file.files) {
    const fs::path path = directory_ / name;
    if (!checked.Has(path, record.sha256)) {
      TRY(CheckHash(path, record.sha256));
      checked.Add(path, record.sha256);
    }
    done += record.bytes;
    if (options.on_progress && !options.on_progress(done, total))
      return Cancelled("cancelled after checking {} of {} bytes", done, total);
  }
  checked.Save();
  return {};
}

void Package::DropWeightPages() const {
  if (weights_) DropPages(weights_->bytes());
}

Result<void> Package::OpenWeights() {
  if (!Has(kWeightIndexFile)) return {};
  weights_ = TRY(MappedFile::Open(TRY(PathOf(kWeightsFile))));
  const fs::path index = TRY(PathOf(kWeightIndexFile));
  entries_ = TRY(ParseWeightIndex(TRY(ReadTextFile(index)), weights_->bytes().size(),  //
                                  index.string()));
  for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
  return {};
}

Result<Tensor> Package::Weight(std::string_view name) const {
  const auto it = index_.find(name);
  if (it == index_.end())
    return NotFound("the package has no weight '{}'", name).At("{}", directory_.string());
  return internal::WeightTensor(entries_[it->second], weights_);
}

Result<std::string> Package::ReadText(std::string_view file) const {
  return ReadTextFile(TRY(PathOf(file)));
}

Result<fs::path> Package::PathOf(std::string_view file) const {
  if (!Has(file))
    return Corrupt("the package does not list the file '{}'", file).At("{}", directory_.string());
  return directory_ / file;
}

bool Package::Has(std::string_view file) const { return files_.contains(file); }

Result<Manifest> ReadPackageManifest(const fs::path& directory) {
  return TRY(ReadManifest(directory)).manifest;
}

Result<std::vector<std::string>> ListPackageFiles(const fs::path& directory) {
  const ManifestFile manifest = TRY(ReadManifest(directory));
  std::vector<std::string> names = {std::string(kManifestFile)};
  for (const auto& [name, record] : manifest.files) names.push_back(name);
  return names;
}

namespace internal {
Tensor WeightTensor(const WeightEntry& entry, std::shared_ptr<const MappedFile> file) {
  const TensorView view{file->bytes().subspan(entry.offset, entry.bytes), entry.shape, entry.dtype,
                        entry.scheme};
  return Tensor(view, std::move(file));
}
}  // namespace internal

}  // namespace hexlane
