// Files: mapped reading, whole reading, and writing that leaves nothing half-written behind.
#ifndef HEXLANE_BASE_FILE_H_
#define HEXLANE_BASE_FILE_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

// The whole of a text file. Refuses (kInvalidInput) one larger than `max_bytes`.
Result<std::string> ReadTextFile(const std::filesystem::path& path, size_t max_bytes = 256u << 20);

// Appends to one file through a buffer; errors (disk full, quota) surface from Write or Close.
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

// Writes a whole file under a temporary name beside `path`, then renames it into place.
Result<void> WriteFileAtomically(const std::filesystem::path& path, std::string_view text);

// A directory that appears whole or not at all: write below path(), then Commit() renames it to the
// target (replacing what was there). Destroyed without Commit, or ended by Ctrl-C (interrupt.h), it
// is removed.
class StagedDirectory {
 public:
  static Result<StagedDirectory> Create(const std::filesystem::path& target);
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();

  const std::filesystem::path& path() const { return staging_; }
  Result<void> Commit();

 private:
  StagedDirectory(std::filesystem::path target, std::filesystem::path staging)
      : target_(std::move(target)), staging_(std::move(staging)) {}
  std::filesystem::path target_;
  std::filesystem::path staging_;  // empty once committed or moved from
};

// Lower-case hexadecimal SHA-256 of bytes or of a file.
std::string Sha256(std::span<const std::byte> bytes);
Result<std::string> Sha256File(const std::filesystem::path& path);

}  // namespace hexlane

#endif  // HEXLANE_BASE_FILE_H_
