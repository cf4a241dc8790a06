// The package directory: what a device needs, and enough to verify it again on a workstation.
//
//   manifest.json                format version, model, scheme, versions, plan; bytes and SHA-256
//   of
//                                every other file
//   weights.bin, weights.json    quantised tensors at 64-byte offsets (kernels/pack layouts), index
//   units/<n>.hxir               each unit's quantised graph in text form (ir/text.h)
//   cpu/ htp/ emulator/          the parts' files
//   tokenizer.json, tokenizer_config.json, generation_config.json, report.json
//
// docs/package.md describes every field.
#ifndef HEXLANE_PACKAGE_PACKAGE_H_
#define HEXLANE_PACKAGE_PACKAGE_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/tensor.h"
#include "package/plan.h"

namespace hexlane {

inline constexpr int kPackageFormatVersion = 1;

struct ManifestFile;  // manifest.h

struct Manifest {
  std::string hexlane_version;
  std::string source;        // the checkpoint's path as given
  std::string architecture;  // row of models.def
  std::string scheme;        // row of quant_schemes.def
  int kv_bits = 16;
  std::map<std::string, std::string> vendor;  // versions of the QNN library that made the binaries
  Json conversion;  // options and fingerprint: what the up-to-date check compares
  Plan plan;
};

// Where a weight lies in weights.bin.
struct WeightEntry {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Scheme scheme = Scheme::kPlain;
  size_t offset = 0;
  size_t bytes = 0;
};

class Package {
 public:
  struct OpenOptions {
    bool check_files = true;  // compare every file's SHA-256 (sizes are always compared)
    // A file that keeps which files were compared, with their size, time and inode, so that they
    // are compared once until they change. Empty: none. Written anew where it cannot be read.
    std::filesystem::path checked_list;
    // Bytes of files checked, of all; false cancels. Null: none.
    std::function<bool(uint64_t done, uint64_t total)> on_progress;
  };
  // kNotFound, kCorrupt (naming the file), kUnsupported (a newer format version).
  static Result<std::shared_ptr<const Package>> Open(const std::filesystem::path& directory,
                                                     const OpenOptions& options);

  const std::filesystem::path& directory() const { return directory_; }
  const Manifest& manifest() const { return manifest_; }
  const Plan& plan() const { return manifest_.plan; }
  const std::vector<WeightEntry>& weights() const { return entries_; }
  // Mapped, not copied; the Tensor keeps the mapping alive.
  Result<Tensor> Weight(std::string_view name) const;
  // Gives the pages of mapped weights back to the system until they are read again.
  void DropWeightPages() const;
  Result<std::string> ReadText(std::string_view file) const;
  // Absolute path of a file of the package; kCorrupt when the manifest does not list it.
  Result<std::filesystem::path> PathOf(std::string_view file) const;
  bool Has(std::string_view file) const;
  // file → bytes, as the manifest lists them.
  const std::map<std::string, size_t, std::less<>>& files() const { return files_; }

 private:
  Result<void> OpenWeights();
  Result<void> CheckFiles(const ManifestFile& file, const OpenOptions& options);

  std::filesystem::path directory_;
  Manifest manifest_;
  std::vector<WeightEntry> entries_;
  std::map<std::string, size_t, std::less<>> index_;  // name → position in entries_
  std::map<std::string, size_t, std::less<>> files_;
  std::shared_ptr<const MappedFile> weights_;
};

// The manifest alone, in milliseconds; errors as Package::Open, whose other checks are not made.
Result<Manifest> ReadPackageManifest(const std::filesystem::path& directory);

// Every file of the package at `directory`, its manifest too, as the manifest lists them; errors as
// Package::Open, whose other checks are not made.
Result<std::vector<std::string>> ListPackageFiles(const std::filesystem::path& directory);

namespace internal {
Tensor WeightTensor(const WeightEntry& entry, std::shared_ptr<const MappedFile> file);
}  // namespace internal

// Writes a package under a temporary name; Finish makes it appear whole. Order: AddWeight…,
// SealWeights, then everything else (emitters write their files below directory()), Finish.
class PackageWriter {
 public:
  // kInvalidInput when something else than a package or an empty folder is there; kIo. Of
  // `options`, `earlier` is set here.
  static Result<PackageWriter> Create(const std::filesystem::path& directory,
                                      StagedDirectory::Options options = {});
  // Leaves what was written for a later Create with the same key, should it not be finished.
  void Keep() { staged_.Keep(); }

  const std::filesystem::path& directory() const { return staged_.path(); }
  // Stored once per name: adding the same bytes again is fine (tied weights), other bytes are
  // kInvalidInput.
  Result<void> AddWeight(std::string_view name, const TensorView& tensor);
  Result<void> SealWeights();
  // The weights added since the first `from`, and what Restore needs to take them up again.
  Json WeightsRecord(size_t from) const;
  size_t weight_count() const { return entries_.size(); }
  // Takes up the weights of an earlier record that a killed process left in weights.bin, after
  // comparing their bytes with their SHA-256. kCorrupt, and nothing taken up, when they differ.
  // Only before the first AddWeight.
  Result<void> RestoreWeights(const Json& record);
  // The same for the weights of a whole model, which are sealed by that; writes nothing, so that
  // several processes may do it at a time.
  Result<void> RestoreSealedWeights(const Json& record);
  // After SealWeights: the weight as written, mapped.
  Result<Tensor> Weight(std::string_view name) const;
  // The weights added so far, as a source of their own that later ones do not touch.
  using WeightSource = std::function<Result<Tensor>(std::string_view name)>;
  Result<WeightSource> WeightsSoFar() const;
  void DropWeightPages() const;                                        // base/file.h, DropPages
  Result<void> AddText(std::string_view file, std::string_view text);  // creates its folder
  // Takes up a text of an earlier run. kCorrupt when its SHA-256 is another.
  Result<void> RestoreText(std::string_view file, std::string_view sha256);
  Result<std::string> ReadText(std::string_view file) const;
  // The file at `source` under the name `file`: the same file by a second name (a hard link) where
  // the file system can, else a copy. Weights that are added so are sealed.
  Result<void> AddFile(std::string_view file, const std::filesystem::path& source);
  // Hashes what was added, taken up or is named by the plan, removes anything else below
  // directory() (a killed process leaves half-written files), writes manifest.json and commits.
  // kCorrupt, and nothing committed, when the plan is not sound or names a file that is not there.
  Result<void> Finish(const Manifest& manifest);

 private:
  explicit PackageWriter(StagedDirectory staged) : staged_(std::move(staged)) {}
  Result<void> OpenWriter();
  Result<std::filesystem::path> PathFor(std::string_view file) const;
  Result<void> RemoveStrangers(const Plan& plan) const;
  StagedDirectory staged_;
  FileNames files_;                     // added or taken up, weights.bin aside
  std::unique_ptr<FileWriter> writer_;  // weights.bin, from the first added weight until sealed
  std::vector<WeightEntry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string, std::less<>> hashes_;  // of each weight's bytes
  std::shared_ptr<const MappedFile> weights_;
};

}  // namespace hexlane

#endif  // HEXLANE_PACKAGE_PACKAGE_H_
