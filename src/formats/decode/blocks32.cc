// Blocks of 32 elements with one binary16 scale d, some with a minimum m:
//   Q4_0  d, 16 bytes            w = (q - 8) d            Q4_1  d, m, 16 bytes              w = q d
//   + m Q5_0  d, 32 bits, 16 bytes   w = (q - 16) d           Q5_1  d, m, 32 bits, 16 bytes     w =
//   q d + m Q8_0  d, 32 signed bytes     w = q d
// Byte j of the 16 holds the low four bits of elements j (low nibble) and j + 16 (high nibble); bit
// j of the 32 is the fifth bit of element j.
#include "formats/checkpoint.h"
#include "formats/decode/bits.h"
#include "formats/decode/decode.h"

namespace hexlane {
namespace {

constexpr int kBlock = 32;
constexpr int kHalf = 16;

// q [32], 0..15.
inline void UnpackNibbles(const std::byte* in, int32_t* q) {
  const uint8_t* packed = U8(in);
  for (int j = 0; j < kHalf; ++j) q[j] = packed[j] & 15;
  for (int j = 0; j < kHalf; ++j) q[j + kHalf] = packed[j] >> 4;
}

// q [32], 0..31.
inline void UnpackFiveBits(const std::byte* fifth_bits, const std::byte* nibbles, int32_t* q) {
  UnpackNibbles(nibbles, q);
  const uint32_t bits = Load<uint32_t>(fifth_bits);
  for (int j = 0; j < kBlock; ++j) q[j] |= static_cast<int32_t>((bits >> j) & 1u) << 4;
}

// out[j] = (q[j] - zero) d: a product, so that a zero keeps the sign that d gives it.
inline void Scale(const int32_t* q, int32_t zero, float d, float* out) {
  for (int j = 0; j < kBlock; ++j) out[j] = static_cast<float>(q[j] - zero) * d;
}
inline void ScaleAdd(const int32_t* q, float d, float m, float* out) {
  for (int j = 0; j < kBlock; ++j) out[j] = static_cast<float>(q[j]) * d + m;
}

}  // namespace

void DecodeQ4_0(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 18, out += kBlock) {
    int32_t q[kBlock];
    UnpackNibbles(in + 2, q);
    Scale(q, 8, LoadHalf(in), out);
  }
}

void DecodeQ4_1(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 20, out += kBlock) {
    int32_t q[kBlock];
    UnpackNibbles(in + 4, q);
    ScaleAdd(q, LoadHalf(in), LoadHalf(in + 2), out);
  }
}

void DecodeQ5_0(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 22, out += kBlock) {
    int32_t q[kBlock];
    UnpackFiveBits(in + 2, in + 6, q);
    Scale(q, 16, LoadHalf(in), out);
  }
}

void DecodeQ5_1(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 24, out += kBlock) {
    int32_t q[kBlock];
    UnpackFiveBits(in + 4, in + 8, q);
    ScaleAdd(q, LoadHalf(in), LoadHalf(in + 2), out);
  }
}

void DecodeQ8_0(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 34, out += kBlock) {
    const float d = LoadHalf(in);
    const int8_t* q = reinterpret_cast<const int8_t*>(in + 2);
    for (int j = 0; j < kBlock; ++j) out[j] = static_cast<float>(q[j]) * d;
  }
}

namespace {

// Block b's integers into q [32], its scale, and its minimum when `min` is not null.
void KeepBlock(StorageType type, const std::byte* in, int8_t* q, float* scale, float* min) {
  *scale = LoadHalf(in);
  if (type == StorageType::kQ8_0) {
    std::memcpy(q, in + 2, kBlock);
    return;
  }
  const bool has_min = type == StorageType::kQ4_1;
  int32_t wide[kBlock];
  UnpackNibbles(in + (has_min ? 4 : 2), wide);
  for (int j = 0; j < kBlock; ++j) q[j] = static_cast<int8_t>(wide[j]);
  *min = has_min ? LoadHalf(in + 2) : -8.0f * *scale;
}

}  // namespace

std::optional<QuantizedMatrix> KeepBlocks(const StoredTensor& tensor) {
  const StorageType type = tensor.type;
  const bool affine = type == StorageType::kQ4_0 || type == StorageType::kQ4_1;
  if ((!affine && type != StorageType::kQ8_0) || tensor.shape.rank() != 2) return std::nullopt;
  QuantizedMatrix matrix;
  matrix.scheme = affine ? Scheme::kW4Affine32 : Scheme::kW8Block32;
  matrix.n = tensor.shape[0];
  matrix.k = tensor.shape[1];
  const int64_t blocks = tensor.shape.elements() / kBlock;
  matrix.q.resize(blocks * kBlock);
  matrix.scales.resize(blocks);
  matrix.mins.resize(affine ? blocks : 0);
  const std::byte* in = tensor.bytes.data();
  for (int64_t b = 0; b < blocks; ++b, in += Info(type).block_bytes)
    KeepBlock(type, in, &matrix.q[b * kBlock], &matrix.scales[b],
              affine ? &matrix.mins[b] : nullptr);
  return matrix;
}

}  // namespace hexlane
