// Blocks of 32 elements with one binary16 scale d, some with a minimum m:
//   Q4_0  d, 16 bytes            w = (q - 8) d            Q4_1  d, m, 16 bytes              w = q d
//   + m Q5_0  d, 32 bits, 16 bytes   w = (q - 16) d           Q5_1  d, m, 32 bits, 16 bytes     w =
//   q d + m Q8_0  d, 32 signed bytes     w = q d
// Byte j of the 16 holds the low four bits of elements j (low nibble) and j + 16 (high nibble); bit
// j of the 32 is the fifth bit of element j.
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

// q [32] of Unpack…, less `zero`, as bytes.
inline void Narrow(const int32_t* wide, int32_t zero, int8_t* q) {
  for (int j = 0; j < kBlock; ++j) q[j] = static_cast<int8_t>(wide[j] - zero);
}

}  // namespace

void KeepQ4_0(const std::byte* in, int64_t blocks, KeptBlocks out) {
  for (int64_t b = 0; b < blocks; ++b, in += 18) {
    int32_t q[kBlock];
    UnpackNibbles(in + 2, q);
    Narrow(q, 8, out.q + b * kBlock);
    out.scales[b] = LoadHalf(in);
  }
}

void KeepQ4_1(const std::byte* in, int64_t blocks, KeptBlocks out) {
  for (int64_t b = 0; b < blocks; ++b, in += 20) {
    int32_t q[kBlock];
    UnpackNibbles(in + 4, q);
    Narrow(q, 0, out.q + b * kBlock);
    out.scales[b] = LoadHalf(in);
    out.mins[b] = LoadHalf(in + 2);
  }
}

void KeepQ5_0(const std::byte* in, int64_t blocks, KeptBlocks out) {
  for (int64_t b = 0; b < blocks; ++b, in += 22) {
    int32_t q[kBlock];
    UnpackFiveBits(in + 2, in + 6, q);
    Narrow(q, 16, out.q + b * kBlock);
    out.scales[b] = LoadHalf(in);
  }
}

void KeepQ8_0(const std::byte* in, int64_t blocks, KeptBlocks out) {
  for (int64_t b = 0; b < blocks; ++b, in += 34) {
    std::memcpy(out.q + b * kBlock, in + 2, kBlock);
    out.scales[b] = LoadHalf(in);
  }
}

}  // namespace hexlane
