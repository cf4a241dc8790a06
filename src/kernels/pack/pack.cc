#include "kernels/pack/pack.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/pack/tile.h"

namespace hexlane {
namespace {
constexpr int64_t kAlign = 64;
// Bounds on what a file may claim; products of the two stay far inside int64.
constexpr int64_t kMaxRows = int64_t{1} << 28, kMaxColumns = int64_t{1} << 24;

int64_t RoundUp(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// A strip under construction or being read.
struct Strip {
  PackedFormat format;
  StripLayout layout;

  Strip(Scheme scheme, int64_t k) : format(FormatOf(scheme)), layout(LayoutOf(scheme, k)) {}

  template <typename Byte>
  Byte* TileOf(Byte* strip, int64_t column) const {
    return strip + column / kTileColumns * layout.tile_bytes;
  }

  // All tiles with q = 0; the strip is zeros.
  void Clear(std::byte* strip) const {
    WithBits(format.bits, [&](auto bits) {
      for (int64_t i = 0; i < kStripRows * kTileColumns; ++i)
        FlipQuant<bits>(strip, i / kTileColumns, i % kTileColumns, format.offset);
    });
    for (int64_t tile = 1; tile < layout.tiles; ++tile)
      std::copy_n(strip, layout.tile_bytes, strip + tile * layout.tile_bytes);
  }

  // Row `row` of m as row `lane` of the strip, which is clear.
  void StoreRow(const QuantizedMatrix& m, int64_t row, int lane, std::byte* strip) const {
    WithBits(format.bits, [&](auto bits) {
      const int8_t* q = m.q.data() + row * m.k;
      for (int64_t i = 0; i < m.k; ++i)
        FlipQuant<bits>(TileOf(strip, i), lane, i % kTileColumns,
                        (q[i] + format.offset) ^ format.offset);
    });
    for (int64_t b = 0; format.scale_bytes && b < m.blocks(); ++b)
      StoreBlockScale(m, row * m.blocks() + b, strip + layout.scales + b * layout.scale_bytes,
                      lane);
    if (format.channel_scales) std::memcpy(strip + layout.channel + 4 * lane, &m.scales[row], 4);
  }
  // Block `index` of m's arrays.
  void StoreBlockScale(const QuantizedMatrix& m, int64_t index, std::byte* scales, int lane) const {
    if (format.scale == ScaleKind::kInteger) {
      scales[lane] = std::byte{m.block_scales[index]};
      return;
    }
    StoreF16(m.scales[index], scales, lane);
    if (format.scale == ScaleKind::kAffine) StoreF16(m.mins[index], scales, kStripRows + lane);
  }

  BlockScale ScaleOf(const std::byte* strip, int lane, int64_t block) const {
    if (!format.scale_bytes) return {};
    return LoadBlockScale(format.scale, strip + layout.scales + block * layout.scale_bytes, lane);
  }
  float ChannelScale(const std::byte* strip, int lane) const {
    float scale = 1;
    if (format.channel_scales) std::memcpy(&scale, strip + layout.channel + 4 * lane, 4);
    return scale;
  }

  // Row `lane` of the strip into row `row` of m.
  void LoadRow(const std::byte* strip, int lane, int64_t row, QuantizedMatrix& m) const {
    int8_t* q = m.q.data() + row * m.k;
    WithBits(format.bits, [&](auto bits) {
      for (int64_t i = 0; i < m.k; ++i)
        q[i] = static_cast<int8_t>(LoadQuant<bits>(TileOf(strip, i), lane, i % kTileColumns) -
                                   format.offset);
    });
    LoadScales(strip, lane, row, m);
  }
  void LoadScales(const std::byte* strip, int lane, int64_t row, QuantizedMatrix& m) const {
    if (format.channel_scales) m.scales[row] = ChannelScale(strip, lane);
    for (int64_t b = 0; format.scale_bytes && b < m.blocks(); ++b) {
      const BlockScale block = ScaleOf(strip, lane, b);
      const int64_t index = row * m.blocks() + b;
      if (!format.channel_scales) m.scales[index] = block.scale;
      if (!m.block_scales.empty()) m.block_scales[index] = static_cast<uint8_t>(block.scale);
      if (!m.mins.empty()) m.mins[index] = block.min;
    }
  }

  // The first `lanes` rows of the strip as columns of `out`, whose rows are `stride` apart.
  template <int kBits>
  void LoadColumns(const std::byte* strip, int64_t k, int lanes, int8_t* out,
                   int64_t stride) const {
    std::array<int8_t, kStripRows> row;  // in full, whatever `lanes`: compilers make vectors of it
    for (int64_t column = 0; column < k; ++column) {
      const std::byte* tile = TileOf(strip, column);
      for (int lane = 0; lane < kStripRows; ++lane)
        row[lane] = static_cast<int8_t>(LoadQuant<kBits>(tile, lane, column % kTileColumns) -
                                        format.offset);
      std::memcpy(out + column * stride, row.data(), static_cast<size_t>(lanes));
    }
  }

  // Row `lane` as real numbers, `block` columns with one scale each.
  void DequantizeRow(const std::byte* strip, int lane, int64_t k, int64_t block, float* out) const {
    const float channel = ChannelScale(strip, lane);
    for (int64_t first = 0; first < k; first += block) {
      const BlockScale by = ScaleOf(strip, lane, first / block);
      const float scale = by.scale * channel;
      const int64_t end = std::min(k, first + block);
      WithBits(format.bits, [&](auto bits) {
        for (int64_t i = first; i < end; ++i) {
          const int q = LoadQuant<bits>(TileOf(strip, i), lane, i % kTileColumns) - format.offset;
          out[i] = static_cast<float>(q) * scale + by.min;
        }
      });
    }
  }
};
}  // namespace

StripLayout LayoutOf(Scheme scheme, int64_t k) {
  const PackedFormat format = FormatOf(scheme);
  StripLayout layout;
  layout.tiles = (k + kTileColumns - 1) / kTileColumns;
  layout.tile_bytes = format.tile_bytes;
  layout.scale_bytes = format.scale_bytes;
  layout.scales = layout.tiles * layout.tile_bytes;
  const int64_t blocks =
      (layout.tiles + format.tiles_per_block - 1) / format.tiles_per_block * format.blocks_per_tile;
  layout.channel = layout.scales + RoundUp(blocks * layout.scale_bytes, kAlign);
  layout.strip_bytes = layout.channel + (format.channel_scales ? 4 * kStripRows : 0);
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
  for (size_t at = 0; at < size_; at += strip.layout.strip_bytes) strip.Clear(bytes_.get() + at);
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
  WithBits(strip.format.bits, [&](auto bits) {
    for (int64_t row = 0; row < n; row += kStripRows, at += strip.layout.strip_bytes)
      strip.LoadColumns<bits>(at, k, static_cast<int>(std::min<int64_t>(kStripRows, n - row)),
                              q.data() + row, n);
  });
  return q;
}

void DequantizeRows(const TensorView& packed, int64_t first_row, int64_t rows, float* out) {
  CHECK(packed.shape.rank() == 2 && first_row >= 0 && first_row + rows <= packed.shape[0]);
  const int64_t k = packed.shape[1];
  const Strip strip(packed.scheme, k);
  const int64_t block = Info(packed.scheme).block ? Info(packed.scheme).block : k;
  for (int64_t row = first_row; row < first_row + rows; ++row, out += k)
    strip.DequantizeRow(packed.bytes.data() + row / kStripRows * strip.layout.strip_bytes,
                        static_cast<int>(row % kStripRows), k, block, out);
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
