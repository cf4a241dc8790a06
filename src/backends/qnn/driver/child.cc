#include "backends/qnn/driver/child.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include "backends/qnn/driver/log.h"
#include "base/memory.h"
#include "hexlane/interrupt.h"

namespace hexlane::qnn {
namespace {

// Messages of the child: kind u8, size u32, bytes.
enum class Kind : uint8_t { kProgress, kPayload, kError };
constexpr size_t kHeaderBytes = 5;

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void Send(int fd, Kind kind, std::string_view bytes) {
  std::string message(kHeaderBytes, '\0');
  message[0] = static_cast<char>(kind);
  const uint32_t size = static_cast<uint32_t>(bytes.size());
  std::memcpy(&message[1], &size, sizeof size);
  message += bytes;
  WriteAll(fd, message);  // a parent that is gone needs no message
}

void PutField(std::string& out, std::string_view field) {
  out += field;
  out += '\0';
}

std::string PackError(const Error& error) {
  std::string out(1, static_cast<char>(error.code));
  for (const std::string* field :
       {&error.what, &error.where, &error.want, &error.got, &error.remedy})
    PutField(out, *field);
  return out;
}

Error UnpackError(std::string_view bytes) {
  Error error;
  error.code = static_cast<Code>(bytes.empty() ? 0 : bytes[0]);
  bytes.remove_prefix(std::min<size_t>(1, bytes.size()));
  for (std::string* field : {&error.what, &error.where, &error.want, &error.got, &error.remedy}) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    *field = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return error;
}

// The library's compiler writes some bytes that it never set into the binary, and tells by all
// bytes which weights two graphs share: new memory that is always zero makes binaries the same
// every time, and smaller (docs/qnn.md).
void ClearNewMemory() {
#if defined(__GLIBC__)
  constexpr int kNewBytesAreZero = 0xff;  // malloc fills with the complement: mallopt(3), M_PERTURB
  mallopt(M_PERTURB, kNewBytesAreZero);
#endif
}

// What outlives a crash of the child.
struct SharedState {
  Activity activity;
  LogRing log;
};

class SharedMemory {
 public:
  static Result<SharedMemory> Map() {
    void* at = mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
      return Io("cannot share memory with a child process: {}", strerror(errno));
    return SharedMemory(new (at) SharedState);
  }
  SharedMemory(SharedMemory&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory() {
    if (state_) munmap(state_, sizeof *state_);
  }
  SharedState& operator*() const { return *state_; }
  SharedState* operator->() const { return state_; }

 private:
  explicit SharedMemory(SharedState* state) : state_(state) {}
  SharedState* state_;
};

}  // namespace

void Child::Progress(double fraction, std::string_view doing) {
  std::string bytes(sizeof fraction, '\0');
  std::memcpy(bytes.data(), &fraction, sizeof fraction);
  bytes += doing;
  Send(pipe_, Kind::kProgress, bytes);
}

// Parent's side of one child.
class ChildProcess {
 public:
  ChildProcess(const ChildOptions& options, SharedMemory memory)
      : options_(options), shared_(std::move(memory)) {}
  ~ChildProcess() {
    if (pid_ > 0) Kill();
    if (read_end_ >= 0) close(read_end_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Result<void> Start(const std::function<Result<std::string>(Child&)>& work) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Io("cannot make a pipe: {}", strerror(errno));
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      RunChild(work, ends[1], parent);
    }
    close(ends[1]);
    read_end_ = ends[0];
    if (pid_ < 0) return Io("cannot start a child process: {}", strerror(errno));
    return {};
  }

  // Reads messages until the child closes its end or we are interrupted.
  Result<void> Listen() {
    char chunk[1 << 16];
    while (true) {
      TRY(CheckInterrupt());
      TRY(CheckMemory());
      pollfd poller = {read_end_, POLLIN, 0};
      if (poll(&poller, 1, 100 /*ms*/) <= 0) continue;
      const ssize_t n = read(read_end_, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return {};
      received_.append(chunk, static_cast<size_t>(n));
      Dispatch();
    }
  }

  Result<ChildResult> Finish() {
    int status = 0;
    rusage usage = {};
    while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (error_) return Failure(std::move(*error_));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && payload_)
      return ChildResult{std::move(*payload_), static_cast<size_t>(usage.ru_maxrss) * 1024};
    return Crash(status);
  }

 private:
  [[noreturn]] void RunChild(const std::function<Result<std::string>(Child&)>& work, int write_end,
                             pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent was gone before the line above
    // These reach the whole group; the parent decides.
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    ClearNewMemory();
    if (const int null = open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0)
      dup2(null, STDOUT_FILENO);
    PlaceRecentLog(&shared_->log);
    Child child;
    child.activity_ = &shared_->activity;
    child.pipe_ = write_end;
    const Result<std::string> result = work(child);
    if (result)
      Send(write_end, Kind::kPayload, *result);
    else
      Send(write_end, Kind::kError, PackError(result.error()));
    _exit(0);  // no destructors: they belong to the parent, and the vendor's may crash
  }

  void Kill() {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  // Handles every whole message in received_.
  void Dispatch() {
    size_t at = 0;
    while (received_.size() - at >= kHeaderBytes) {
      uint32_t size = 0;
      std::memcpy(&size, &received_[at + 1], sizeof size);
      if (received_.size() - at - kHeaderBytes < size) break;
      Handle(static_cast<Kind>(received_[at]),
             std::string_view(received_).substr(at + kHeaderBytes, size));
      at += kHeaderBytes + size;
    }
    received_.erase(0, at);
  }

  void Handle(Kind kind, std::string_view bytes) {
    if (kind == Kind::kPayload) payload_ = bytes;
    if (kind == Kind::kError) error_ = UnpackError(bytes);
    double fraction = 0;
    if (kind != Kind::kProgress || bytes.size() < sizeof fraction || !options_.progress) return;
    std::memcpy(&fraction, bytes.data(), sizeof fraction);
    options_.progress(fraction, bytes.substr(sizeof fraction));
  }

  std::string During() const {
    const std::string activity = shared_->activity.text();
    return activity.empty() ? "" : " while " + activity;
  }

  // What the child holds of its own; the limits that the kernel offers count what is only reserved,
  // too.
  Result<void> CheckMemory() const {
    if (options_.memory_limit == 0) return {};
    const size_t bytes = OwnMemoryBytes(pid_);
    if (bytes <= options_.memory_limit) return {};
    return Vendor("{} took too much memory{}", options_.task, During())
        .Want("at most {} MiB", options_.memory_limit >> 20)
        .Got("{} MiB", bytes >> 20)
        .Remedy("Give more with --memory, or less to each shard");
  }

  Failure Crash(int status) const {
    std::string how = "ended without a result";
    if (WIFSIGNALED(status))
      how = fmt::format("crashed (signal {}, {})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
      how = fmt::format("ended with status {}", WEXITSTATUS(status));
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    return Vendor("{} {}{}", options_.task, how, During())
        .Got("{}", shared_->log.Lines())
        .Remedy("{}", killed
                          ? "If the system ran out of memory, make the shards smaller with --memory"
                          : "Try another scheme or SoC, and report this with the line above.");
  }

  const ChildOptions& options_;
  SharedMemory shared_;
  pid_t pid_ = -1;
  int read_end_ = -1;
  std::string received_;
  std::optional<std::string> payload_;
  std::optional<Error> error_;
};

Result<ChildResult> RunInChild(const std::function<Result<std::string>(Child&)>& work,
                               const ChildOptions& options) {
  ChildProcess process(options, TRY(SharedMemory::Map()));
  TRY(process.Start(work));
  TRY(process.Listen());
  return process.Finish();
}

}  // namespace hexlane::qnn
