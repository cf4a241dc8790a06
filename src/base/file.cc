#include "base/file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/file.h>
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
#include <set>
#include <thread>
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
    case EFBIG:
      remedy =
          "A limit on the size of files is reached: raise it (ulimit -f) or choose another disk";
      break;
    default: break;
  }
  return Failure(code, fmt::format("cannot {} '{}': {}", verb, path.string(), std::strerror(error)))
      .Remedy("{}", remedy);
}

Failure NotAFile(const fs::path& path) {
  return InvalidInput("'{}' is not a regular file", path.string())
      .Remedy("Put the file itself there, not a folder, pipe or device");
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Processes are numbered apart in each namespace (container); 0 where there are none.
uint64_t ProcessNamespace() {
  struct stat info{};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// A name beside `path` that no other file of this machine has:
// <folder>/.<name>.<process>-<namespace>.<count>.tmp
fs::path TemporaryName(const fs::path& path) {
  static std::atomic<int> count{0};
  const std::string name = fmt::format(".{}.{}-{}.{}.tmp", path.filename().string(), ::getpid(),
                                       ProcessNamespace(), count.fetch_add(1));
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
  if (!S_ISREG(info.st_mode)) return NotAFile(path);
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

void DropPages(std::span<const std::byte> mapped) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t first = (begin + page - 1) / page * page;  // whole pages only
  const uintptr_t last = (begin + mapped.size()) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
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

Result<FileWriter> FileWriter::Continue(const fs::path& path, size_t position) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat info{};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return SystemFailure("write", path, errno);
  if (static_cast<size_t>(info.st_size) < position) {
    return Corrupt("'{}' is cut off", path.string())
        .Want("at least {} bytes", position)
        .Got("{}", info.st_size);
  }
  const auto end = static_cast<off_t>(position);
  if (::ftruncate(fd.get(), end) != 0 || ::lseek(fd.get(), end, SEEK_SET) != end)
    return SystemFailure("write", path, errno);
  FileWriter writer(path, fd.Release());
  writer.position_ = position;
  return writer;
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

// Whether `inner` is `outer` or below it; both as Resolve gives them.
bool Contains(const fs::path& outer, const fs::path& inner) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

bool IsMountPoint(const fs::path& folder) {
  struct stat here{}, above{};
  return ::stat(folder.c_str(), &here) == 0 && ::stat(folder.parent_path().c_str(), &above) == 0 &&
         here.st_dev != above.st_dev;
}

Result<void> CheckApart(const fs::path& target, const std::vector<fs::path>& inputs) {
  for (const fs::path& input : inputs) {
    const fs::path from = Resolve(input);
    if (!Contains(target, from) && !Contains(from, target)) continue;
    const std::string_view relation = target == from           ? "is"
                                      : Contains(target, from) ? "contains"
                                                               : "lies inside";
    return InvalidInput("the output '{}' {} the input", target.string(), relation)
        .Got("input '{}'", from.string())
        .Remedy("Choose another output folder");
  }
  return {};
}

// What a rename cannot replace.
Result<void> CheckPlace(const fs::path& target) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(target, error))) {  // Resolve followed those that lead on
    return InvalidInput("'{}' is a link to a folder that is not there", target.string())
        .Remedy("Make the folder, or remove the link");
  }
  if (!fs::exists(target, error)) return {};
  const std::string_view remedy = "Choose another output folder or remove this one";
  if (!fs::is_directory(target, error))
    return InvalidInput("'{}' exists and is not a folder", target.string()).Remedy("{}", remedy);
  if (IsMountPoint(target)) {
    return InvalidInput("'{}' is a mount point, which cannot be replaced", target.string())
        .Remedy("Name a folder in it, e.g. {}", (target / "out").string());
  }
  if (Contains(target, Resolve(fs::current_path(error)))) {
    return InvalidInput("'{}' is or contains the working directory", target.string())
        .Remedy("Name a new folder, e.g. {}", (target / "out").string());
  }
  return {};
}

// A file of `folder` that is not listed, relative; empty: there is none.
Result<std::string> UnlistedFile(const fs::path& folder, const std::vector<std::string>& listed) {
  const std::set<std::string> known(listed.begin(), listed.end());
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) continue;
    std::string name = it->path().lexically_relative(folder).string();
    if (!known.contains(name)) return name;
  }
  if (error) return SystemFailure("list", folder, error.value());
  return std::string();
}

// Refuses a target whose loss would surprise its owner.
Result<void> CheckReplaceable(const fs::path& target, const StagedDirectory::Options& options) {
  TRY(CheckApart(target, options.inputs));
  TRY(CheckPlace(target));
  std::error_code error;
  if (!fs::exists(target, error)) return {};
  Result<std::vector<std::string>> listed;
  if (options.earlier) listed = options.earlier(target);
  const std::string other = TRY(UnlistedFile(target, listed.value_or(std::vector<std::string>())));
  if (other.empty()) return {};
  return InvalidInput("'{}' exists and has other files in it", target.string())
      .Want("a new or empty folder, or an earlier result that nothing was added to")
      .Got("{}{}", other, listed ? "" : fmt::format(" ({})", listed.error().ToString()))
      .Remedy("Choose another output folder or remove this one");
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

// Whether something was written below `folder` lately: a process of another container or machine,
// which seems to have ended from here, may be at work.
bool IsFresh(const fs::path& folder) {
  const bool ours =
      folder.filename().string().find(fmt::format("-{}.", ProcessNamespace())) != std::string::npos;
  const auto limit = fs::file_time_type::clock::now() - std::chrono::minutes(ours ? 1 : 10);
  std::error_code error;
  if (fs::last_write_time(folder, error) > limit) return true;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (fs::last_write_time(it->path(), error) > limit) return true;
  return false;
}

// The staging folder of `target` for this key: <folder>/.<name>.<key>.partial
fs::path PartialName(const fs::path& target, std::string_view key) {
  return target.parent_path() / fmt::format(".{}.{}.partial", target.filename().string(), key);
}

constexpr size_t kShortestKey = 8;

// Whether `folder` is a PartialName of `target` that no process is writing.
bool IsAbandoned(const fs::path& folder, const fs::path& target) {
  const std::string name = folder.filename().string();
  const std::string prefix = fmt::format(".{}.", target.filename().string());
  constexpr std::string_view kSuffix = ".partial";
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) return false;
  const std::string_view key = std::string_view(name).substr(prefix.size());
  // Nobody's folder by chance, nor that of a target named x.y.
  if (key.find_first_not_of("0123456789abcdef") != key.size() - kSuffix.size()) return false;
  if (key.size() - kSuffix.size() < kShortestKey) return false;
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

// Removes what killed processes left of their stagings of `target`, but for `mine`.
void RemoveLeftOvers(const fs::path& target, const fs::path& mine) {
  std::error_code error, ignored;
  for (fs::directory_iterator it(target.parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& folder = it->path();
    if (folder == mine || !it->is_directory(ignored)) continue;
    if ((IsLeftOver(folder.filename().string(), target) && !IsFresh(folder)) ||
        IsAbandoned(folder, target))
      fs::remove_all(folder, ignored);
  }
}

// Whether what was locked is still what the name stands for: whoever had it before may have
// finished it and renamed it away.
bool IsStill(const Fd& locked, const fs::path& path) {
  struct stat held = {}, now = {};
  return ::fstat(locked.get(), &held) == 0 && ::stat(path.c_str(), &now) == 0 &&
         held.st_ino == now.st_ino && held.st_dev == now.st_dev;
}

}  // namespace

Result<std::vector<std::string>> FilesBelow(const fs::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_directory()) files.push_back(it->path().lexically_relative(directory).string());
  }
  if (error) return Io("cannot list '{}': {}", directory.string(), error.message());
  std::ranges::sort(files);
  return files;
}

Result<void> RemoveOthers(const fs::path& folder, const FileNames& names) {
  for (const std::string& file : TRY(FilesBelow(folder))) {
    std::error_code error;
    if (!names.contains(file)) fs::remove(folder / file, error);
    if (error) return SystemFailure("remove", folder / file, error.value());
  }
  return {};
}

struct StagedDirectory::State {
  fs::path target;
  Options options;  // without the key, which is a view
  fs::path staging;
  std::vector<fs::path> parents;  // made by Create, outermost first
  bool resumed = false;
  bool kept = false;
  bool committed = false;
  Fd lock{-1};  // of the staging folder, where it has a key
};

StagedDirectory::StagedDirectory(std::unique_ptr<State> state) : state_(std::move(state)) {}
StagedDirectory::StagedDirectory(StagedDirectory&&) noexcept = default;

fs::path StagedDirectory::PathOf(const fs::path& target, std::string_view key) {
  return PartialName(Resolve(target), key);
}

const fs::path& StagedDirectory::path() const { return state_->staging; }
bool StagedDirectory::resumed() const { return state_->resumed; }
void StagedDirectory::Keep() { state_->kept = true; }

Result<StagedDirectory> StagedDirectory::Create(const fs::path& target, const Options& options) {
  auto state = std::make_unique<State>();
  state->target = Resolve(target);
  state->staging =
      options.key.empty() ? TemporaryName(state->target) : PartialName(state->target, options.key);
  TRY(CheckReplaceable(state->target, options));
  state->options = {.earlier = options.earlier, .inputs = options.inputs};
  StagedDirectory directory(std::move(state));
  State& made = *directory.state_;
  TRY(MakeParents(made.target, made.parents));
  std::error_code error;
  const bool created = fs::create_directory(made.staging, error);
  if (error || (!created && options.key.empty())) {
    made.kept = true;  // whatever is there is not ours
    return SystemFailure("create folder", made.target, error ? error.value() : EEXIST);
  }
  made.resumed = !created;
  if (!options.key.empty()) TRY(directory.Lock(options.shared));
  RemoveLeftOvers(made.target, made.staging);
  return directory;
}

Result<void> StagedDirectory::Lock(bool shared) {
  state_->lock = Fd(::open(state_->staging.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // The children of a process that was killed a moment ago still hold its lock.
  constexpr auto kPatience = std::chrono::seconds(5);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (::flock(state_->lock.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    state_->kept = true;
    return Io("another process is writing '{}'", state_->target.string())
        .Remedy("Wait for it to end, or choose another output folder");
  }
  if (IsStill(state_->lock, state_->staging)) return {};
  state_->kept = true;
  return Io("another process has just finished '{}'", state_->target.string())
      .Remedy("Run the command again where that is not what you want");
}

StagedDirectory::~StagedDirectory() {
  if (!state_ || (state_->kept && !state_->committed)) return;
  std::error_code ignored;
  fs::remove_all(state_->staging, ignored);  // after Commit: what was replaced
  if (state_->committed) return;
  for (auto parent = state_->parents.rbegin(); parent != state_->parents.rend(); ++parent)
    ::rmdir(parent->c_str());  // stays when something else is in it by now
}

Result<void> StagedDirectory::Commit() {
  CHECK(!state_->committed);
  TRY(CheckReplaceable(state_->target, state_->options));  // files may have come since
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

// Read in pieces, not mapped: pages of a mapping would count as this process's memory.
Result<std::string> Sha256File(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return SystemFailure("open", path, errno);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  CHECK(EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1);
  std::vector<unsigned char> buffer(1 << 20);
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemFailure("read", path, errno);
    if (n == 0) break;
    EVP_DigestUpdate(hash.get(), buffer.data(), static_cast<size_t>(n));
  }
  unsigned char digest[SHA256_DIGEST_LENGTH];
  EVP_DigestFinal_ex(hash.get(), digest, nullptr);
  return Hex(digest);
}

}  // namespace hexlane
