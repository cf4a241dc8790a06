// Files: mapped reading, whole reading, and writing that leaves nothing half-written behind.
#ifndef HEXLANE_BASE_FILE_H_
#define HEXLANE_BASE_FILE_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hexlane/status.h"

namespace hexlane {

// A read-only mapping of a whole file. Immutable; safe to share between threads.
class MappedFile {
 public:
  // kNotFound, kIo; an empty file maps to an empty span.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// Lets the system take back the pages of mapped bytes read so far; they are read again when
// touched.
void DropPages(std::span<const std::byte> mapped);

// The whole of a text file. Refuses (kInvalidInput) one larger than `max_bytes`.
Result<std::string> ReadTextFile(const std::filesystem::path& path, size_t max_bytes = 256u << 20);

// Appends to one file; errors (disk full, quota) surface from Write or Close.
class FileWriter {
 public:
  static Result<FileWriter> Create(const std::filesystem::path& path);
  // Goes on after the first `position` bytes of an existing file, the rest is cut off; kCorrupt
  // when it has fewer.
  static Result<FileWriter> Continue(const std::filesystem::path& path, size_t position);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();  // closes without reporting; call Close to learn whether the bytes arrived

  Result<void> Write(std::span<const std::byte> bytes);
  Result<void> PadTo(size_t alignment);  // zero bytes up to the next multiple
  size_t position() const { return position_; }
  Result<void> Close();  // flushes to the disk (fsync)

 private:
  FileWriter(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::filesystem::path path_;
  int fd_ = -1;
  size_t position_ = 0;
};

// Writes a whole file under a temporary name beside `path`, then renames it into place. A link is
// followed; a device or pipe is written to as it is.
Result<void> WriteFileAtomically(const std::filesystem::path& path, std::string_view text);

// Every file below a folder, by its path from there, in order.
Result<std::vector<std::string>> FilesBelow(const std::filesystem::path& folder);
// Removes those that are not named: what a killed process left half-written.
using FileNames = std::set<std::string, std::less<>>;
Result<void> RemoveOthers(const std::filesystem::path& folder, const FileNames& names);

// A directory that appears whole or not at all: write below path(), then Commit() puts it in the
// place of the target in one step. Destroyed without Commit, also after a failed one or Ctrl-C
// (interrupt.h), it is removed together with the parent folders it made, and an older target stays
// as it was.
class StagedDirectory {
 public:
  // The files of an earlier result in a folder, relative to it; an Error where there is none.
  using Listing = std::function<Result<std::vector<std::string>>(const std::filesystem::path&)>;
  struct Options {
    // Tells an earlier result from somebody's data: only a folder whose every file is listed is
    // replaced. Null: an empty one only.
    Listing earlier = {};
    // What the result is made from. The target must not be one of these, contain one or lie inside.
    std::vector<std::filesystem::path> inputs = {};
    // Of what will be written: hexadecimal digits, 8 or more. What a killed process left of the
    // same target and key is taken up as it is (resumed), and left-overs of other keys are removed.
    // Empty: every Create starts anew.
    std::string_view key = {};
    // Several processes may write to one target and key at a time; otherwise a second one is
    // refused (kIo).
    bool shared = false;
  };
  // `target` may be absent, an empty folder or an earlier result. Refused (kInvalidInput, before
  // any work and again by Commit): a folder with other files (names one), a mount point, a link to
  // nothing, the working directory, and what Options excludes.
  static Result<StagedDirectory> Create(const std::filesystem::path& target,
                                        const Options& options);
  static Result<StagedDirectory> Create(const std::filesystem::path& target) {
    return Create(target, Options());
  }
  // Where what is written under a key lies until it is committed.
  static std::filesystem::path PathOf(const std::filesystem::path& target, std::string_view key);

  StagedDirectory(StagedDirectory&&) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();

  const std::filesystem::path& path() const;
  bool resumed() const;
  void Keep();  // destroyed without Commit, it stays for a later Create with the same key
  Result<void> Commit();

 private:
  struct State;
  explicit StagedDirectory(std::unique_ptr<State> state);
  Result<void> Lock(bool shared);
  std::unique_ptr<State> state_;  // null once moved from
};

// Lower-case hexadecimal SHA-256 of bytes or of a file.
std::string Sha256(std::span<const std::byte> bytes);
Result<std::string> Sha256File(const std::filesystem::path& path);

}  // namespace hexlane

#endif  // HEXLANE_BASE_FILE_H_
