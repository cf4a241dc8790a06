#include "models/weights.h"

#include <algorithm>
#include <numeric>

#include "kernels/pack/pack.h"

namespace hexlane {
namespace {

struct Located {
  const TensorName* row = nullptr;
  std::string stored;  // the checkpoint's name for it
};

// Splits "layers.12.q_proj.weight" into the pattern "layers.{}.q_proj.weight" and "12".
std::pair<std::string, std::string> PatternOf(std::string_view name) {
  constexpr std::string_view kPrefix = "layers.";
  if (!name.starts_with(kPrefix)) return {std::string(name), ""};
  const size_t dot = name.find('.', kPrefix.size());
  return {fmt::format("layers.{{}}{}", name.substr(dot)),
          std::string(name.substr(kPrefix.size(), dot - kPrefix.size()))};
}

Located Locate(const Decoder& decoder, std::string_view name) {
  const auto [pattern, layer] = PatternOf(name);
  for (const TensorName& row : decoder.architecture().tensors) {
    if (row.name != pattern) continue;
    const bool gguf = decoder.checkpoint().format() == "gguf";
    std::string stored(gguf ? row.gguf : row.hugging_face);
    const size_t slot = stored.find("{}");
    if (slot != stored.npos) stored.replace(slot, 2, layer);
    return {&row, stored};
  }
  CheckFailed(__FILE__, __LINE__, "the architecture's table lists every weight it builds with");
}

// Heads whose rows must be brought from interleaved to rotate-half order; 0: none.
int64_t InterleavedHeads(const Decoder& decoder, const TensorName& row) {
  if (decoder.checkpoint().format() != "gguf") return 0;
  switch (row.rotary) {
    case TensorName::Rotary::kNo: return 0;
    case TensorName::Rotary::kQuery: return decoder.config().heads;
    case TensorName::Rotary::kKey: return decoder.config().kv_heads;
  }
  return 0;
}

// Row of the interleaved file that holds each rotate-half row: pair i of a head is stored at rows
// 2i and 2i+1.
std::vector<int64_t> RotateHalfOrder(int64_t rows, int64_t heads) {
  const int64_t dim = rows / heads;
  std::vector<int64_t> source(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t head = row / dim, within = row % dim;
    const int64_t half = within / (dim / 2), pair = within % (dim / 2);
    source[static_cast<size_t>(row)] = head * dim + 2 * pair + half;
  }
  return source;
}

// values [rows, width] with its rows in the order given.
template <typename T>
std::vector<T> PermuteRows(const std::vector<T>& values, const std::vector<int64_t>& order) {
  const size_t width = values.size() / order.size();
  std::vector<T> result(values.size());
  for (size_t row = 0; row < order.size(); ++row)
    std::copy_n(values.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(order[row]) * width),
                width, result.begin() + static_cast<ptrdiff_t>(row * width));
  return result;
}

void PermuteRows(QuantizedMatrix& matrix, const std::vector<int64_t>& order) {
  matrix.q = PermuteRows(matrix.q, order);
  matrix.scales = PermuteRows(matrix.scales, order);
  matrix.block_scales = PermuteRows(matrix.block_scales, order);
  matrix.mins = PermuteRows(matrix.mins, order);
}

std::optional<DType> PlainDType(StorageType type) {
  switch (type) {
    case StorageType::kF32: return DType::kF32;
    case StorageType::kF16: return DType::kF16;
    case StorageType::kBF16: return DType::kBF16;
    default: return std::nullopt;
  }
}

// A view into the mapped file, where its elements are aligned.
std::optional<Tensor> MappedTensor(const StoredTensor& stored,
                                   std::shared_ptr<const Checkpoint> owner) {
  const std::optional<DType> dtype = PlainDType(stored.type);
  if (!dtype) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(stored.bytes.data());
  if (address % DTypeBytes(*dtype) != 0) return std::nullopt;
  return Tensor({stored.bytes, stored.shape, *dtype}, std::move(owner));
}

// For each row of the weight, the stored tensor's; empty: as they are.
std::vector<int64_t> RowOrder(const Decoder& decoder, const TensorName& name, int64_t rows) {
  const int64_t heads = InterleavedHeads(decoder, name);
  return heads ? RotateHalfOrder(rows, heads) : std::vector<int64_t>();
}

}  // namespace

Result<Tensor> LoadWeight(const Decoder& decoder, std::string_view name, const Shape& want) {
  const Checkpoint& checkpoint = decoder.checkpoint();
  const Located located = Locate(decoder, name);
  const StoredTensor* stored = checkpoint.Find(located.stored);
  if (stored == nullptr) {
    return NotFound("tensor '{}' is missing", located.stored)
        .At("{}", checkpoint.where())
        .Want("{} as the config says", want)
        .Remedy("The checkpoint is incomplete or its config belongs to another model");
  }
  if (stored->shape != want) {
    return InvalidInput("tensor '{}' has the wrong shape", located.stored)
        .At("{}", checkpoint.where())
        .Want("{} as the config says", want)
        .Got("{}", stored->shape);
  }
  const std::vector<int64_t> order = RowOrder(decoder, *located.row, want[0]);
  if (std::optional<QuantizedMatrix> kept = checkpoint.ReadKept(*stored)) {
    if (!order.empty()) PermuteRows(*kept, order);
    return Pack(*kept);
  }
  if (order.empty() && want.rank() > 1) {  // vectors are small: float32 for every backend
    if (auto mapped = MappedTensor(*stored, decoder.shared_checkpoint())) return *std::move(mapped);
  }
  std::vector<float> values = TRY(checkpoint.ReadFloats(*stored));
  if (!order.empty()) values = PermuteRows(values, order);
  return Tensor::FromFloats(std::move(values), want);
}

bool IsStoredInFloats(const Decoder& decoder, std::string_view name) {
  const StoredTensor* stored = decoder.checkpoint().Find(Locate(decoder, name).stored);
  return stored != nullptr && PlainDType(stored->type).has_value();
}

RowReader StoredRows(const Decoder& decoder, std::string_view name) {
  const Located located = Locate(decoder, name);
  const StoredTensor* stored = decoder.checkpoint().Find(located.stored);
  if (stored == nullptr || stored->kept_exactly()) return {};
  return [&checkpoint = decoder.checkpoint(), stored,
          order = RowOrder(decoder, *located.row, stored->shape[0])](
             int64_t first, std::span<float> out) -> Result<void> {
    const int64_t k = stored->shape.last(), rows = static_cast<int64_t>(out.size()) / k;
    if (order.empty()) return checkpoint.ReadRows(*stored, first, rows, out);
    for (int64_t i = 0; i < rows; ++i)
      TRY(checkpoint.ReadRows(*stored, order[first + i], 1, out.subspan(i * k, k)));
    return {};
  };
}

}  // namespace hexlane
