#include "base/file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

// The Error for a failed system call on `path`, with what the user can do about it.
Failure SystemFailure(std::string_view verb, const fs::path& path, int error) {
  const bool missing = (error == ENOENT || error == ENOTDIR) && verb != "create folder";
  const Code code = missing ? Code::kNotFound : Code::kIo;
  std::string_view remedy;
  switch (error) {
    case ENOENT:
    case ENOTDIR: remedy = missing ? "Check the path" : "Choose another folder"; break;
    case EACCES:
    case EPERM: remedy = "Check the permissions of the file and its folder"; break;
    case EROFS: remedy = "The file system is read-only: choose another folder"; break;
    case ENOSPC:
    case EDQUOT: remedy = "The disk is full: free some space or choose another folder"; break;
    default: break;
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

// A name beside `path` that no other file of this machine has:
// <folder>/.<name>.<process>.<count>.tmp
fs::path TemporaryName(const fs::path& path) {
  static std::atomic<int> count{0};
  const std::string name =
      fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), count.fetch_add(1));
  return path.parent_path() / name;
}

// `path` absolute, without links, "." and "..", and without a slash at the end; it need not exist.
fs::path Resolve(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  fs::path full = fs::weakly_canonical(absolute, error);  // of a relative path it may stay relative
  if (error) full = absolute.lexically_normal();
  return full.has_filename() ? full : full.parent_path();
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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

namespace {
// madvise on the whole pages among `mapped`. Advice that the system does not take is no failure.
void Advise(std::span<const std::byte> mapped, int advice) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + mapped.size()) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, advice);
}
}  // namespace

void DropPages(std::span<const std::byte> mapped) { Advise(mapped, MADV_DONTNEED); }
void PreferLargePages(std::span<const std::byte> mapped) { Advise(mapped, MADV_HUGEPAGE); }

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

namespace {
Result<void> WriteFile(const fs::path& path, std::string_view text) {
  auto writer = TRY(FileWriter::Create(path));
  TRY(writer.Write(std::as_bytes(std::span(text))));
  return writer.Close();
}
}  // namespace

Result<void> WriteFileAtomically(const fs::path& path, std::string_view text) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_character_file(status) || fs::is_fifo(status)) return WriteFile(path, text);
  const fs::path target = Resolve(path);
  const fs::path temporary = TemporaryName(target);
  Result<void> result = WriteFile(temporary, text);
  if (result && ::rename(temporary.c_str(), target.c_str()) != 0)
    result = SystemFailure("write", path, errno);
  if (!result) ::unlink(temporary.c_str());
  return result;
}

namespace {

// Refuses a target whose loss would surprise its owner.
Result<void> CheckReplaceable(const fs::path& target, std::string_view marker) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (!fs::exists(status)) return {};
  const std::string_view remedy = "Choose another output folder or remove this one";
  if (!fs::is_directory(status))
    return InvalidInput("'{}' exists and is not a folder", target.string()).Remedy("{}", remedy);
  if (fs::exists(target / marker, error) || fs::is_empty(target, error)) return {};
  return InvalidInput("'{}' exists and has other files in it", target.string())
      .Want("a new or empty folder, or one with a {} to replace", marker)
      .Remedy("{}", remedy);
}

// Creates the folders above `path` that are missing and adds them to `made`.
Result<void> MakeParents(const fs::path& path, std::vector<fs::path>& made) {
  std::error_code error;
  const fs::path parent = path.parent_path();
  if (fs::is_directory(parent, error)) return {};
  if (parent.has_relative_path()) TRY(MakeParents(parent, made));
  if (fs::create_directory(parent, error)) made.push_back(parent);
  if (error) return SystemFailure("create folder", parent, error.value());
  return {};
}

// Puts `staging` in the place of the folder `target`, which ends up under the name `staging`.
int Exchange(const fs::path& staging, const fs::path& target) {
  const auto rename2 = [](const fs::path& from, const fs::path& to, unsigned flags) {
    return ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) ? errno
                                                                                         : 0;
  };
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE of Linux; some file systems refuse it
  const int error = rename2(staging, target, kExchange);
  if (error != EINVAL && error != ENOSYS) return error;
  const fs::path aside = TemporaryName(target);
  if (::rename(target.c_str(), aside.c_str()) != 0) return errno;
  if (::rename(staging.c_str(), target.c_str()) != 0) {
    const int failure = errno;
    (void)::rename(aside.c_str(), target.c_str());
    return failure;
  }
  return ::rename(aside.c_str(), staging.c_str()) ? errno : 0;
}

// Whether `name` is a TemporaryName of `target` whose process has ended.
bool IsLeftOver(std::string_view name, const fs::path& target) {
  const std::string prefix = fmt::format(".{}.", target.filename().string());
  if (!name.starts_with(prefix) || !name.ends_with(".tmp")) return false;
  const int process = std::atoi(std::string(name.substr(prefix.size())).c_str());
  return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

// Whether something was written below `folder` lately: a process of another container, which
// seems to have ended from here, may be at work.
bool IsFresh(const fs::path& folder) {
  const auto limit = fs::file_time_type::clock::now() - std::chrono::minutes(10);
  std::error_code error;
  if (fs::last_write_time(folder, error) > limit) return true;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (fs::last_write_time(it->path(), error) > limit) return true;
  return false;
}

// Removes what killed processes left of their stagings of `target`.
void RemoveLeftOvers(const fs::path& target) {
  std::error_code error, ignored;
  for (fs::directory_iterator it(target.parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    const bool left = IsLeftOver(it->path().filename().string(), target);
    if (left && it->is_directory(ignored) && !IsFresh(it->path()))
      fs::remove_all(it->path(), ignored);
  }
}

}  // namespace

Result<StagedDirectory> StagedDirectory::Create(const fs::path& target, std::string_view marker) {
  auto state = std::make_unique<State>();
  state->target = Resolve(target);
  state->staging = TemporaryName(state->target);
  TRY(CheckReplaceable(state->target, marker));
  StagedDirectory directory(std::move(state));
  State& made = *directory.state_;
  TRY(MakeParents(made.target, made.parents));
  std::error_code error;
  if (!fs::create_directory(made.staging, error))
    return SystemFailure("create folder", made.target, error ? error.value() : EEXIST);
  RemoveLeftOvers(made.target);
  return directory;
}

StagedDirectory::~StagedDirectory() {
  if (!state_) return;
  std::error_code ignored;
  fs::remove_all(state_->staging, ignored);  // after Commit: what was replaced
  if (state_->committed) return;
  for (auto parent = state_->parents.rbegin(); parent != state_->parents.rend(); ++parent)
    ::rmdir(parent->c_str());  // stays when something else is in it by now
}

Result<void> StagedDirectory::Commit() {
  CHECK(!state_->committed);
  int error = 0;
  if (::rename(state_->staging.c_str(), state_->target.c_str()) != 0) error = errno;
  if (error == ENOTEMPTY || error == EEXIST) error = Exchange(state_->staging, state_->target);
  if (error) return SystemFailure("write", state_->target, error);
  state_->committed = true;
  std::error_code ignored;
  fs::remove_all(state_->staging, ignored);
  return {};
}

namespace {
std::string Hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}
}  // namespace

std::string Sha256(std::span<const std::byte> bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  return Hex(digest);
}

namespace {
class Sha256Sum {
 public:
  Sha256Sum() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void Add(const void* data, size_t bytes) { EVP_DigestUpdate(context_.get(), data, bytes); }
  std::string Finish() {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    EVP_DigestFinal_ex(context_.get(), digest, nullptr);
    return Hex(digest);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};
}  // namespace

std::string Sha256Mapped(std::span<const std::byte> mapped) {
  constexpr size_t kPiece = 64u << 20;
  Sha256Sum sum;
  while (!mapped.empty()) {
    const auto piece = mapped.first(std::min(kPiece, mapped.size()));
    sum.Add(piece.data(), piece.size());
    DropPages(piece);
    mapped = mapped.subspan(piece.size());
  }
  return sum.Finish();
}

// Read in pieces, not mapped: pages of a mapping would count as this process's memory.
Result<std::string> Sha256File(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return SystemFailure("open", path, errno);
  Sha256Sum sum;
  std::vector<unsigned char> buffer(1 << 20);
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemFailure("read", path, errno);
    if (n == 0) break;
    sum.Add(buffer.data(), static_cast<size_t>(n));
  }
  return sum.Finish();
}

}  // namespace hexlane
