#include "kernels/pack/pack.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/pack/scheme_packer.h"

namespace hexlane {
namespace {
constexpr int64_t kAlign = 64;
// Bounds on what a file may claim; products of the two stay far inside int64.
constexpr int64_t kMaxRows = int64_t{1} << 28, kMaxColumns = int64_t{1} << 24;

int64_t RoundUp(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

const SchemePacker& PackerOf(Scheme scheme) {
  switch (scheme) {
    case Scheme::kPlain: break;
#define SCHEME(Name, text, bits, block, kind) \
  case Scheme::k##Name: return k##Name##Packer;
#include "base/schemes.def"
#undef SCHEME
  }
  CheckFailed(__FILE__, __LINE__, "a packed scheme");
}

// Byte (w8) or nibble (w4) of `lane`, `column` in a tile.
struct Cell {
  int64_t byte;
  int shift;
};
Cell CellOf(int bits, int lane, int64_t column) {
  const int64_t group = column / 4;
  const int64_t vector = bits == 4 ? group % 4 : group;
  return {vector * 64 + lane * 4 + column % 4, bits == 4 && group >= 4 ? 4 : 0};
}

// A strip under construction or being read.
struct Strip {
  const SchemePacker& packer;
  StripLayout layout;
  int bits;

  explicit Strip(Scheme scheme, int64_t k)
      : packer(PackerOf(scheme)), layout(LayoutOf(scheme, k)), bits(Info(scheme).bits) {}

  // Row `row` of m as row `lane` of the strip.
  void StoreRow(const QuantizedMatrix& m, int64_t row, int lane, std::byte* strip) const {
    for (int64_t i = 0; i < m.k; ++i) {
      const Cell cell = CellOf(bits, lane, i % kTileColumns);
      const int stored = m.q[row * m.k + i] + packer.q_offset;
      // Xor against the padding that is already there.
      std::byte& byte = strip[i / kTileColumns * layout.tile_bytes + cell.byte];
      byte ^= static_cast<std::byte>((stored ^ packer.q_offset) << cell.shift);
    }
    for (int64_t b = 0; packer.store && b < layout.blocks; ++b)
      packer.store(m, row * layout.blocks + b, strip + layout.scales + b * layout.scale_bytes,
                   lane);
    if (packer.channel_scales) std::memcpy(strip + layout.channel + 4 * lane, &m.scales[row], 4);
  }

  int Q(const std::byte* strip, int lane, int64_t column) const {
    const Cell cell = CellOf(bits, lane, column % kTileColumns);
    const auto byte =
        static_cast<int>(strip[column / kTileColumns * layout.tile_bytes + cell.byte]);
    return (bits == 4 ? (byte >> cell.shift) & 15 : byte) - packer.q_offset;
  }
  BlockScale ScaleOf(const std::byte* strip, int lane, int64_t block) const {
    if (!packer.load) return {};
    return packer.load(strip + layout.scales + block * layout.scale_bytes, lane);
  }
  float ChannelScale(const std::byte* strip, int lane) const {
    float scale = 1;
    if (packer.channel_scales) std::memcpy(&scale, strip + layout.channel + 4 * lane, 4);
    return scale;
  }

  // Row `lane` of the strip into row `row` of m.
  void LoadRow(const std::byte* strip, int lane, int64_t row, QuantizedMatrix& m) const {
    for (int64_t i = 0; i < m.k; ++i) m.q[row * m.k + i] = static_cast<int8_t>(Q(strip, lane, i));
    LoadScales(strip, lane, row, m);
  }
  void LoadScales(const std::byte* strip, int lane, int64_t row, QuantizedMatrix& m) const {
    if (packer.channel_scales) m.scales[row] = ChannelScale(strip, lane);
    for (int64_t b = 0; packer.load && b < layout.blocks; ++b) {
      const BlockScale block = ScaleOf(strip, lane, b);
      const int64_t index = row * layout.blocks + b;
      if (!packer.channel_scales) m.scales[index] = block.scale;
      if (!m.block_scales.empty()) m.block_scales[index] = static_cast<uint8_t>(block.scale);
      if (!m.mins.empty()) m.mins[index] = block.min;
    }
  }

  // The first `lanes` rows of the strip as columns of `out`, whose rows are `stride` apart.
  void LoadColumns(const std::byte* strip, int64_t k, int lanes, int8_t* out,
                   int64_t stride) const {
    for (int64_t column = 0; column < k; ++column) {
      const Cell cell = CellOf(bits, 0, column % kTileColumns);
      const std::byte* tile = strip + column / kTileColumns * layout.tile_bytes;
      const auto* first = reinterpret_cast<const uint8_t*>(tile + cell.byte);
      const int mask = bits == 4 ? 15 : 255;
      int8_t* to = out + column * stride;
      std::array<uint8_t, kStripRows>
          row;  // in full, whatever `lanes`: compilers make vectors of it
      for (int lane = 0; lane < kStripRows; ++lane)
        row[lane] =
            static_cast<uint8_t>(((first[4 * lane] >> cell.shift) & mask) - packer.q_offset);
      std::memcpy(to, row.data(), static_cast<size_t>(lanes));
    }
  }

  void DequantizeRow(const std::byte* strip, int lane, int64_t k, float* out) const {
    const float channel = ChannelScale(strip, lane);
    for (int64_t b = 0; b < layout.blocks; ++b) {
      const BlockScale block = ScaleOf(strip, lane, b);
      const float scale = block.scale * channel;
      for (int64_t i = b * kTileColumns; i < std::min(k, (b + 1) * kTileColumns); ++i)
        out[i] = static_cast<float>(Q(strip, lane, i)) * scale + block.min;
    }
  }
};
}  // namespace

int QOffset(Scheme scheme) { return PackerOf(scheme).q_offset; }

StripLayout LayoutOf(Scheme scheme, int64_t k) {
  const SchemePacker& packer = PackerOf(scheme);
  StripLayout layout;
  layout.blocks = (k + kTileColumns - 1) / kTileColumns;
  layout.tile_bytes = kStripRows * kTileColumns * Info(scheme).bits / 8;
  layout.scale_bytes = packer.scale_bytes;
  layout.scales = layout.blocks * layout.tile_bytes;
  layout.channel = layout.scales + RoundUp(layout.blocks * layout.scale_bytes, kAlign);
  layout.strip_bytes = layout.channel + (packer.channel_scales ? 4 * kStripRows : 0);
  return layout;
}

size_t PackedBytes(Scheme scheme, int64_t n, int64_t k) {
  return static_cast<size_t>((n + kStripRows - 1) / kStripRows * LayoutOf(scheme, k).strip_bytes);
}

Packer::Packer(Scheme scheme, int64_t n, int64_t k)
    : shape_{n, k},
      scheme_(scheme),
      size_(PackedBytes(scheme, n, k)),
      bytes_(new(std::align_val_t{kAlign}) std::byte[size_](),
             [](std::byte* p) { operator delete[](p, std::align_val_t{kAlign}); }) {
  const Strip strip(scheme, k);
  const auto pad =
      static_cast<std::byte>(strip.bits == 4 ? strip.packer.q_offset * 17 : strip.packer.q_offset);
  for (size_t at = 0; at < size_; at += strip.layout.strip_bytes)
    std::fill_n(bytes_.get() + at, strip.layout.scales, pad);
}

void Packer::Store(const QuantizedMatrix& rows, int64_t first_row) {
  CHECK(rows.scheme == scheme_ && rows.k == shape_[1]);
  CHECK(first_row >= 0 && first_row + rows.n <= shape_[0]);
  const Strip strip(scheme_, rows.k);
  for (int64_t i = 0; i < rows.n; ++i) {
    const int64_t row = first_row + i;
    strip.StoreRow(rows, i, static_cast<int>(row % kStripRows),
                   bytes_.get() + row / kStripRows * strip.layout.strip_bytes);
  }
}

Tensor Packer::Finish() && {
  const TensorView view{{bytes_.get(), size_}, shape_, DType::kI8, scheme_};
  const std::byte* first = bytes_.get();
  return Tensor(view, std::shared_ptr<const void>(std::move(bytes_), first));
}

Tensor Pack(const QuantizedMatrix& m) {
  Packer packer(m.scheme, m.n, m.k);
  packer.Store(m, 0);
  return std::move(packer).Finish();
}

QuantizedMatrix Unpack(const TensorView& packed, int64_t first_row, int64_t rows) {
  CHECK(packed.shape.rank() == 2 && first_row >= 0 && rows >= 0);
  CHECK(first_row + rows <= packed.shape[0]);
  const Strip strip(packed.scheme, packed.shape[1]);
  QuantizedMatrix m = QuantizedMatrix::Zero(packed.scheme, rows, packed.shape[1]);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = first_row + r;
    strip.LoadRow(packed.bytes.data() + row / kStripRows * strip.layout.strip_bytes,
                  static_cast<int>(row % kStripRows), r, m);
  }
  return m;
}

QuantizedMatrix UnpackScales(const TensorView& packed) {
  const Strip strip(packed.scheme, packed.shape[1]);
  QuantizedMatrix m = QuantizedMatrix::Empty(packed.scheme, packed.shape[0], packed.shape[1]);
  for (int64_t row = 0; row < m.n; ++row)
    strip.LoadScales(packed.bytes.data() + row / kStripRows * strip.layout.strip_bytes,
                     static_cast<int>(row % kStripRows), row, m);
  return m;
}

std::vector<int8_t> UnpackTransposed(const TensorView& packed) {
  const int64_t n = packed.shape[0], k = packed.shape[1];
  const Strip strip(packed.scheme, k);
  std::vector<int8_t> q(static_cast<size_t>(n * k));
  const std::byte* at = packed.bytes.data();
  for (int64_t row = 0; row < n; row += kStripRows, at += strip.layout.strip_bytes)
    strip.LoadColumns(at, k, static_cast<int>(std::min<int64_t>(kStripRows, n - row)),
                      q.data() + row, n);
  return q;
}

void DequantizeRows(const TensorView& packed, int64_t first_row, int64_t rows, float* out) {
  CHECK(packed.shape.rank() == 2 && first_row >= 0 && first_row + rows <= packed.shape[0]);
  const int64_t k = packed.shape[1];
  const Strip strip(packed.scheme, k);
  for (int64_t row = first_row; row < first_row + rows; ++row, out += k)
    strip.DequantizeRow(packed.bytes.data() + row / kStripRows * strip.layout.strip_bytes,
                        static_cast<int>(row % kStripRows), k, out);
}

Result<void> CheckPacked(const TensorView& packed, std::string_view name) {
  const Shape& shape = packed.shape;
  if (packed.scheme == Scheme::kPlain) return Corrupt("not a packed matrix").At("{}", name);
  if (shape.rank() != 2 || shape[0] < 1 || shape[0] > kMaxRows || shape[1] < 1 ||
      shape[1] > kMaxColumns)
    return Corrupt("impossible matrix shape").At("{}", name).Got("{}", shape);
  const size_t want = PackedBytes(packed.scheme, shape[0], shape[1]);
  if (packed.bytes.size() != want)
    return Corrupt("wrong size for {} of shape {}", Info(packed.scheme).name, shape)
        .At("{}", name)
        .Want("{} bytes", want)
        .Got("{}", packed.bytes.size());
  if (reinterpret_cast<uintptr_t>(packed.bytes.data()) % kAlign)
    return Corrupt("data not aligned to {} bytes", kAlign).At("{}", name);
  return {};
}

}  // namespace hexlane
