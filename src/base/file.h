// Files: mapped reading, whole reading, and writing that leaves nothing half-written behind.
#ifndef HEXLANE_BASE_FILE_H_
#define HEXLANE_BASE_FILE_H_

#include <cstddef>
#include <filesystem>
#include <memory>
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

// Asks the system to read and map these bytes in large pages (2 MiB on x86_64) where its file
// system can: what is read from end to end again and again then waits less for address translation.
// For pages that are not in memory yet; nothing happens where it cannot.
void PreferLargePages(std::span<const std::byte> mapped);

// The whole of a text file. Refuses (kInvalidInput) one larger than `max_bytes`.
Result<std::string> ReadTextFile(const std::filesystem::path& path, size_t max_bytes = 256u << 20);

// Appends to one file; errors (disk full, quota) surface from Write or Close.
class FileWriter {
 public:
  static Result<FileWriter> Create(const std::filesystem::path& path);
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

// A directory that appears whole or not at all: write below path(), then Commit() puts it in the
// place of the target in one step. Destroyed without Commit, also after a failed one or Ctrl-C
// (interrupt.h), it is removed together with the parent folders it made, and an older target stays
// as it was.
class StagedDirectory {
 public:
  // `target` may be absent, an empty folder, or one that has a file `marker` in it, which tells
  // that it is an earlier result; anything else is somebody's data and refused (kInvalidInput).
  static Result<StagedDirectory> Create(const std::filesystem::path& target,
                                        std::string_view marker = "manifest.json");
  StagedDirectory(StagedDirectory&&) = default;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();

  const std::filesystem::path& path() const { return state_->staging; }
  Result<void> Commit();

 private:
  struct State {
    std::filesystem::path target;
    std::filesystem::path staging;
    std::vector<std::filesystem::path> parents;  // made by Create, outermost first
    bool committed = false;
  };
  explicit StagedDirectory(std::unique_ptr<State> state) : state_(std::move(state)) {}
  std::unique_ptr<State> state_;  // null once moved from
};

// Lower-case hexadecimal SHA-256 of bytes or of a file.
std::string Sha256(std::span<const std::byte> bytes);
Result<std::string> Sha256File(const std::filesystem::path& path);
// Of a mapped file. Its pages are dropped again: they do not count as this process's memory.
std::string Sha256Mapped(std::span<const std::byte> mapped);

}  // namespace hexlane

#endif  // HEXLANE_BASE_FILE_H_
