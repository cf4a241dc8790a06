#include "shards.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "hexlane/interrupt.h"

namespace hexlane::synthetic {
namespace {

constexpr int64_t kChunkElements = 2 << 20;

// One file that several threads write to, each at its own place.
class ShardFile {
 public:
  static Result<std::unique_ptr<ShardFile>> Create(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return Io("cannot create '{}': {}", path.string(), std::strerror(errno));
    return std::make_unique<ShardFile>(path, fd);
  }
  ShardFile(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~ShardFile() { ::close(fd_); }

  // May be called from any thread; what went wrong is kept for Finish.
  void Write(std::span<const std::byte> bytes, uint64_t offset) {
    while (!bytes.empty() && !error_) {
      const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) {
        error_ = errno;
        return;
      }
      bytes = bytes.subspan(static_cast<size_t>(done));
      offset += static_cast<uint64_t>(done);
    }
  }
  bool has_failed() const { return error_ != 0; }

  Result<void> Finish() {
    if (!error_ && ::fsync(fd_) != 0) error_ = errno;
    if (error_) return Io("cannot write '{}': {}", path_.string(), std::strerror(error_));
    return {};
  }

 private:
  std::filesystem::path path_;
  int fd_;
  std::atomic<int> error_ = 0;
};

OrderedJson ShapeOf(const TensorPlan& tensor) {
  if (tensor.rows == 0) return OrderedJson::array({tensor.columns});
  return OrderedJson::array({tensor.rows, tensor.columns});
}

// Length, JSON, spaces up to a multiple of eight bytes.
std::string HeaderOf(const Shard& shard) {
  OrderedJson json = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t begin = 0;
  for (const TensorPlan& tensor : shard.tensors) {
    const uint64_t end = begin + BytesOf(tensor);
    json[tensor.name] = {
        {"dtype", "F16"}, {"shape", ShapeOf(tensor)}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}

// In chunks of whole rows.
void WriteTensor(const TensorPlan& plan, const TensorNoise& noise, uint64_t offset, ShardFile& file,
                 ThreadPool& pool) {
  const int64_t rows = std::max<int64_t>(plan.rows, 1);
  const int64_t chunk = std::clamp<int64_t>(kChunkElements / plan.columns, 1, rows);
  const size_t columns = static_cast<size_t>(plan.columns);
  pool.ParallelFor((rows + chunk - 1) / chunk, 1, [&](int64_t begin, int64_t end) {
    std::vector<uint16_t> values(static_cast<size_t>(chunk) * columns);
    for (int64_t i = begin; i < end && !file.has_failed() && !Interrupted(); ++i) {
      const int64_t first = i * chunk, count = std::min(chunk, rows - first);
      for (int64_t row = 0; row < count; ++row) {
        noise.FillRow(first + row,
                      std::span(values).subspan(static_cast<size_t>(row) * columns, columns));
      }
      file.Write(std::as_bytes(std::span(values).first(static_cast<size_t>(count) * columns)),
                 offset + static_cast<uint64_t>(first) * columns * sizeof(uint16_t));
    }
  });
}

}  // namespace

uint64_t BytesOf(const TensorPlan& tensor) {
  return static_cast<uint64_t>(tensor.elements()) * sizeof(uint16_t);
}

std::vector<Shard> PlanShards(std::vector<TensorPlan> tensors, uint64_t shard_bytes) {
  std::vector<Shard> shards(1);
  uint64_t bytes = 0;
  for (TensorPlan& tensor : tensors) {
    if (bytes > 0 && bytes + BytesOf(tensor) > shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += BytesOf(tensor);
    shards.back().tensors.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].file = shards.size() == 1
                         ? "model.safetensors"
                         : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
  }
  return shards;
}

OrderedJson IndexOf(const std::vector<Shard>& shards) {
  uint64_t bytes = 0;
  OrderedJson map = OrderedJson::object();
  for (const Shard& shard : shards) {
    for (const TensorPlan& tensor : shard.tensors) {
      map[tensor.name] = shard.file;
      bytes += BytesOf(tensor);
    }
  }
  return {{"metadata", {{"total_size", bytes}}}, {"weight_map", std::move(map)}};
}

Result<void> WriteShard(const std::filesystem::path& folder, const Shard& shard, uint64_t seed,
                        const NoiseTable& table, ThreadPool& pool) {
  const auto file = TRY(ShardFile::Create(folder / shard.file));
  const std::string header = HeaderOf(shard);
  file->Write(std::as_bytes(std::span(header)), 0);
  uint64_t offset = header.size();
  for (const TensorPlan& plan : shard.tensors) {
    TRY(CheckInterrupt());
    WriteTensor(plan, TensorNoise(plan, seed, table), offset, *file, pool);
    offset += BytesOf(plan);
  }
  TRY(CheckInterrupt());
  return file->Finish();
}

}  // namespace hexlane::synthetic
