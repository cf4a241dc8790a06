#include <algorithm>

#include "package/fields.h"
#include "package/manifest.h"
#include "package/package.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

Result<FileTable> HashFiles(const fs::path& directory) {
  FileTable files;
  for (const std::string& name : TRY(FilesBelow(directory))) {
    if (name == kManifestFile) continue;
    TRY(CheckPackageFileName(name, directory.string()));
    std::error_code error;
    const size_t bytes = fs::file_size(directory / name, error);
    files[name] = {bytes, TRY(Sha256File(directory / name))};
  }
  return files;
}

}  // namespace

Result<PackageWriter> PackageWriter::Create(const fs::path& directory,
                                            StagedDirectory::Options options) {
  options.earlier = ListPackageFiles;
  return PackageWriter(TRY(StagedDirectory::Create(directory, options)));
}

// weights.bin, after the weights that were taken up from an earlier run.
Result<void> PackageWriter::OpenWriter() {
  CHECK(weights_ == nullptr);  // not sealed yet
  if (writer_) return {};
  const fs::path path = directory() / kWeightsFile;
  const size_t end = entries_.empty() ? 0 : entries_.back().offset + entries_.back().bytes;
  writer_ = std::make_unique<FileWriter>(
      TRY(end == 0 ? FileWriter::Create(path) : FileWriter::Continue(path, end)));
  return {};
}

Json PackageWriter::WeightsRecord(size_t from) const {
  const std::vector<WeightEntry> added(entries_.begin() + static_cast<ptrdiff_t>(from),
                                       entries_.end());
  Json hashes = Json::object();
  for (const WeightEntry& entry : added) hashes[entry.name] = hashes_.at(entry.name);
  return {{"index", WeightIndexJson(added)}, {"sha256", hashes}};
}

Result<void> PackageWriter::RestoreWeights(const Json& record) {
  CHECK(writer_ == nullptr && weights_ == nullptr);
  const auto file = TRY(MappedFile::Open(directory() / kWeightsFile));
  const Json* index = TRY(JsonObject(record, "index", kWeightsFile));
  const Json* hashes = TRY(JsonObject(record, "sha256", kWeightsFile));
  const auto entries = TRY(ReadWeightIndex(*index, file->bytes().size(), kWeightsFile));
  for (const WeightEntry& entry : entries) {
    const auto bytes = file->bytes().subspan(entry.offset, entry.bytes);
    if (Sha256(bytes) != TRY(JsonField<std::string>(*hashes, entry.name, kWeightsFile)))
      return Corrupt("weight '{}' is not as it was written", entry.name);
  }
  DropPages(file->bytes());
  for (const WeightEntry& entry : entries) {
    index_.emplace(entry.name, entries_.size());
    hashes_.emplace(entry.name, hashes->at(entry.name).get<std::string>());
    entries_.push_back(entry);
  }
  return {};
}

Result<void> PackageWriter::RestoreSealedWeights(const Json& record) {
  TRY(RestoreWeights(record));
  weights_ = TRY(MappedFile::Open(directory() / kWeightsFile));
  return {};
}

Result<void> PackageWriter::AddWeight(std::string_view name, const TensorView& tensor) {
  TRY(OpenWriter());
  const std::string hash = Sha256(tensor.bytes);
  if (const auto it = hashes_.find(name); it != hashes_.end()) {
    if (it->second == hash) return {};
    return InvalidInput("two different weights are named '{}'", name);
  }
  TRY(writer_->PadTo(kWeightAlignment));
  WeightEntry entry{std::string(name), tensor.shape,        tensor.dtype,
                    tensor.scheme,     writer_->position(), tensor.bytes.size()};
  TRY(writer_->Write(tensor.bytes));
  index_.emplace(name, entries_.size());
  hashes_.emplace(name, hash);
  entries_.push_back(std::move(entry));
  return {};
}

Result<void> PackageWriter::SealWeights() {
  TRY(OpenWriter());
  TRY(writer_->Close());
  writer_.reset();
  weights_ = TRY(MappedFile::Open(directory() / kWeightsFile));
  const std::string text = WeightIndexText(entries_);
  TRY(ParseWeightIndex(text, weights_->bytes().size(), kWeightIndexFile));  // readable again
  return AddText(kWeightIndexFile, text);
}

void PackageWriter::DropWeightPages() const {
  if (weights_) DropPages(weights_->bytes());
}

Result<Tensor> PackageWriter::Weight(std::string_view name) const {
  CHECK(weights_ != nullptr);  // sealed
  const auto it = index_.find(name);
  if (it == index_.end()) return NotFound("no weight '{}' was written", name);
  return internal::WeightTensor(entries_[it->second], weights_);
}

Result<PackageWriter::WeightSource> PackageWriter::WeightsSoFar() const {
  const std::shared_ptr<const MappedFile> file =
      entries_.empty() ? nullptr : TRY(MappedFile::Open(directory() / kWeightsFile));
  return [file, entries = entries_, index = index_](std::string_view name) -> Result<Tensor> {
    const auto it = index.find(name);
    if (it == index.end()) return NotFound("no weight '{}' was written", name);
    return internal::WeightTensor(entries[it->second], file);
  };
}

// Where a file goes; its folder is made.
Result<fs::path> PackageWriter::PathFor(std::string_view file) const {
  TRY(CheckPackageFileName(file, directory().string()));
  fs::path path = directory() / file;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return Io("cannot create folder '{}': {}", path.parent_path().string(), error.message());
  return path;
}

Result<void> PackageWriter::AddText(std::string_view file, std::string_view text) {
  files_.emplace(file);
  return WriteFileAtomically(TRY(PathFor(file)), text);
}

Result<void> PackageWriter::RestoreText(std::string_view file, std::string_view sha256) {
  TRY(CheckPackageFileName(file, directory().string()));
  const Result<std::string> now = Sha256File(directory() / file);
  if (!now || *now != sha256) return Corrupt("'{}' is not as it was written", file);
  files_.emplace(file);
  return {};
}

Result<void> PackageWriter::AddFile(std::string_view file, const fs::path& source) {
  const fs::path path = TRY(PathFor(file));
  std::error_code error;
  const fs::path original = fs::canonical(source, error);  // not a second name of a link
  if (!error) fs::create_hard_link(original, path, error);
  if (error) fs::copy_file(source, path, error);
  if (error) return Io("cannot copy '{}': {}", source.string(), error.message());
  files_.emplace(file);
  // Never opened for writing: that would write to the original.
  if (file == kWeightsFile) weights_ = TRY(MappedFile::Open(path));
  return {};
}

Result<std::string> PackageWriter::ReadText(std::string_view file) const {
  TRY(CheckPackageFileName(file, directory().string()));
  return ReadTextFile(directory() / file);
}

Result<void> PackageWriter::RemoveStrangers(const Plan& plan) const {
  FileNames known = files_;
  known.emplace(kWeightsFile);
  for (const Variant& variant : plan.variants) {
    for (const Part& part : variant.parts) {
      known.insert(part.files.begin(), part.files.end());
      known.insert(part.contract);
    }
  }
  return RemoveOthers(directory(), known);
}

Result<void> PackageWriter::Finish(const Manifest& manifest) {
  if (weights_ == nullptr) TRY(SealWeights());
  TRY(RemoveStrangers(manifest.plan));
  const std::string text = ManifestText({manifest, TRY(HashFiles(directory()))});
  TRY(ParseManifest(text, kManifestFile));  // what no reader would accept is not written
  TRY(WriteFileAtomically(directory() / kManifestFile, text));
  return staged_.Commit();
}

}  // namespace hexlane
