// How fast this machine reads memory: the roofline of decoding, which reads every weight once for
// each token. A buffer much larger than the caches is read from one end to the other by each
// thread's share, with 32-byte vector loads; the median of several passes.
//   bandwidth [--threads N] [--mib SIZE] [--passes N] [FILE]
// FILE: read this file, mapped, instead (weights.bin: how the executor sees it). Prints one JSON
// line: {"threads", "bytes", "passes", "gb_s" (median), "best_gb_s"}, GB = 10^9 bytes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Options {
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  size_t mib = 1024;
  int passes = 7;
  std::string file;
};

struct Buffer {
  const char* data = nullptr;
  size_t bytes = 0;
};

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "bandwidth: %s\n", what.c_str());
  std::exit(2);
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (!name.starts_with("--")) {
      options.file = name;
      continue;
    }
    const long value = i + 1 < argc ? std::strtol(argv[++i], nullptr, 10) : 0;
    if (value < 1) Fail(std::string(name) + " wants a positive number");
    if (name == "--threads")
      options.threads = static_cast<int>(value);
    else if (name == "--mib")
      options.mib = static_cast<size_t>(value);
    else if (name == "--passes")
      options.passes = static_cast<int>(value);
    else
      Fail("unknown option " + std::string(name));
  }
  return options;
}

// Its pages are written, so that they exist: pages never written are one page of zeros.
Buffer Allocate(size_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) Fail("no memory");
  ::madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 1, bytes);
  return {static_cast<const char*>(p), bytes};
}

Buffer Map(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (fd < 0 || ::fstat(fd, &status) != 0) Fail("cannot open " + file);
  const size_t bytes = static_cast<size_t>(status.st_size);
  void* p = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) Fail("cannot map " + file);
  ::close(fd);
  return {static_cast<const char*>(p), bytes};
}

using Vector = int64_t __attribute__((vector_size(32), aligned(32), may_alias));

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
int64_t
Read(const char* data, size_t bytes) {
  constexpr size_t kStreams = 8;
  Vector sums[kStreams] = {};
  const auto* v = reinterpret_cast<const Vector*>(data);
  for (size_t i = 0; i + kStreams <= bytes / sizeof(Vector); i += kStreams)
    for (size_t s = 0; s < kStreams; ++s) sums[s] ^= v[i + s];
  int64_t all = 0;
  for (const Vector& sum : sums) all ^= sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
  return all;
}

// GB/s of each pass; the first, which may touch pages for the first time, is not counted.
std::vector<double> Measure(const Buffer& buffer, const Options& options) {
  using Clock = std::chrono::steady_clock;
  std::barrier barrier(options.threads);
  std::vector<double> rates;
  std::atomic<int64_t> sink = 0;  // so that reading is not optimised away
  const size_t share = buffer.bytes / static_cast<size_t>(options.threads) / 4096 * 4096;
  const auto work = [&](int thread) {
    for (int pass = 0; pass <= options.passes; ++pass) {
      barrier.arrive_and_wait();
      const auto start = Clock::now();
      sink ^= Read(buffer.data + static_cast<size_t>(thread) * share, share);
      barrier.arrive_and_wait();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const double bytes = static_cast<double>(share) * options.threads;
      if (thread == 0 && pass > 0) rates.push_back(bytes / seconds / 1e9);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& thread : threads) thread.join();
  return rates;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  const Buffer buffer = options.file.empty() ? Allocate(options.mib << 20) : Map(options.file);
  std::vector<double> rates = Measure(buffer, options);
  std::sort(rates.begin(), rates.end());
  std::printf(
      "{\"threads\": %d, \"bytes\": %zu, \"passes\": %d, \"gb_s\": %.2f, \"best_gb_s\": %.2f}\n",
      options.threads, buffer.bytes, options.passes, rates[rates.size() / 2], rates.back());
}
