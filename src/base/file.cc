#include "base/file.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hexlane {
namespace fs = std::filesystem;
namespace {

// The Error for a failed system call on `path`, with what the user can do about it.
Failure SystemFailure(std::string_view verb, const fs::path& path, int error) {
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kIo;
  std::string_view remedy;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      remedy = "Check the path";
      break;
    case EACCES:
    case EPERM:
      remedy = "Check the permissions of the file and its folder";
      break;
    case EROFS:
      remedy = "The file system is read-only: choose another folder";
      break;
    case ENOSPC:
    case EDQUOT:
      remedy = "The disk is full: free some space or choose another folder";
      break;
    default:
      break;
  }
  return Failure(code, fmt::format("cannot {} '{}': {}", verb, path.string(), std::strerror(error)))
      .Remedy("{}", remedy);
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

fs::path TemporaryName(const fs::path& path) {
  fs::path name = path;
  if (!name.has_filename()) name = name.parent_path();  // "dir/" means "dir"
  const std::string file = fmt::format(".{}.{}.tmp", name.filename().string(), ::getpid());
  return name.parent_path() / file;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return SystemFailure("open", path, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return SystemFailure("read", path, errno);
  if (!S_ISREG(info.st_mode)) return InvalidInput("'{}' is not a regular file", path.string());
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, {}));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return SystemFailure("map", path, errno);
  const std::span bytes(static_cast<const std::byte*>(data), size);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::string> ReadTextFile(const fs::path& path, size_t max_bytes) {
  const auto file = TRY(MappedFile::Open(path));
  if (file->bytes().size() > max_bytes) {
    return InvalidInput("'{}' is too large for a text file", path.string())
        .Want("at most {} bytes", max_bytes)
        .Got("{} bytes", file->bytes().size());
  }
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

Result<FileWriter> FileWriter::Create(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return SystemFailure("write", path, errno);
  return FileWriter(path, fd);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      position_(other.position_) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> FileWriter::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemFailure("write", path_, errno);
    position_ += static_cast<size_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<void> FileWriter::PadTo(size_t alignment) {
  const std::string zeros((alignment - position_ % alignment) % alignment, '\0');
  return Write(std::as_bytes(std::span(zeros)));
}

Result<void> FileWriter::Close() {
  const int fd = std::exchange(fd_, -1);
  const int sync_error = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  const int close_error = ::close(fd) == 0 ? 0 : errno;
  if (sync_error || close_error)
    return SystemFailure("write", path_, sync_error ? sync_error : close_error);
  return {};
}

Result<void> WriteFileAtomically(const fs::path& path, std::string_view text) {
  const fs::path temporary = TemporaryName(path);
  const auto write = [&]() -> Result<void> {
    FileWriter writer = TRY(FileWriter::Create(temporary));
    TRY(writer.Write(std::as_bytes(std::span(text))));
    TRY(writer.Close());
    if (::rename(temporary.c_str(), path.c_str()) != 0) return SystemFailure("write", path, errno);
    return {};
  };
  Result<void> result = write();
  if (!result) ::unlink(temporary.c_str());
  return result;
}

Result<StagedDirectory> StagedDirectory::Create(const fs::path& target) {
  std::error_code error;
  const fs::path full = fs::absolute(target, error);
  const fs::path staging = TemporaryName(full);
  fs::create_directories(staging.parent_path(), error);
  if (error) return SystemFailure("create folder", staging.parent_path(), error.value());
  fs::remove_all(staging, error);
  if (!fs::create_directory(staging, error))
    return SystemFailure("create folder", staging, error ? error.value() : EEXIST);
  return StagedDirectory(full.has_filename() ? full : full.parent_path(), staging);
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : target_(std::move(other.target_)), staging_(std::exchange(other.staging_, {})) {}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

Result<void> StagedDirectory::Commit() {
  std::error_code error;
  fs::remove_all(target_, error);
  if (error) return SystemFailure("replace", target_, error.value());
  fs::rename(staging_, target_, error);
  if (error) return SystemFailure("write", target_, error.value());
  staging_.clear();
  return {};
}

std::string Sha256(std::span<const std::byte> bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

Result<std::string> Sha256File(const fs::path& path) {
  const auto file = TRY(MappedFile::Open(path));
  return Sha256(file->bytes());
}

}  // namespace hexlane
