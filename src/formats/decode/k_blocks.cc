// The "K" types: super-blocks of 256 elements, cut into sub-blocks of 16 or 32 with small integer
// scales s (and minimums m) under one binary16 d (and dmin). Bytes in file order:
//   Q2_K  16 x (s low nibble, m high nibble), 64 bytes of q, d, dmin      w = q (d s) - dmin m 16
//   sub-blocks of 16 Q3_K  32 bytes of third bits, 64 bytes of q, 12 bytes of s, d         w = (q -
//   4) (d (s - 32))  16 of 16 Q4_K  d, dmin, 12 bytes of s and m, 128 bytes of q w = q (d s) - dmin
//   m      8 of 32 Q5_K  d, dmin, 12 bytes of s and m, 32 bytes of fifth bits, 128 of q  w = q (d
//   s) - dmin m      8 of 32 Q6_K  128 bytes of low nibbles, 64 of high pairs, 16 signed s, d w =
//   (q - 32) (d s)        16 of 16
#include "formats/decode/bits.h"
#include "formats/decode/decode.h"

namespace hexlane {
namespace {

// Pairs of bits: byte l of a run of 32 holds elements l, l + 32, l + 64, l + 96 of its half, lowest
// pair first.
inline int32_t Pair(uint8_t byte, int group) { return (byte >> (2 * group)) & 3; }

// 16 six-bit scales in 12 bytes: low nibbles in bytes 0..7 (scales 8..15 in their high halves),
// high pairs in 8..11.
inline void UnpackScales16(const uint8_t* in, int32_t* s) {
  for (int i = 0; i < 16; ++i) {
    const int32_t low = i < 8 ? in[i] & 15 : in[i - 8] >> 4;
    s[i] = low | Pair(in[8 + i % 4], i / 4) << 4;
  }
}

// 8 six-bit scales and 8 six-bit minimums in 12 bytes: the first four of each are the low six bits
// of bytes 0..3 and 4..7; the last four are the nibbles of bytes 8..11, topped by the two spare
// bits of bytes 0..3 and 4..7.
inline void UnpackScalesAndMins(const uint8_t* in, int32_t* s, int32_t* m) {
  for (int i = 0; i < 4; ++i) {
    s[i] = in[i] & 63;
    m[i] = in[i + 4] & 63;
    s[i + 4] = (in[i + 8] & 15) | (in[i] >> 6) << 4;
    m[i + 4] = (in[i + 8] >> 4) | (in[i + 4] >> 6) << 4;
  }
}

inline void ScaleRun(const int32_t* q, int count, float scale, float minus, float* out) {
  for (int l = 0; l < count; ++l) out[l] = static_cast<float>(q[l]) * scale - minus;
}

// Nibble run % 2 of bytes 32 (run / 2) …
inline void UnpackQ4_KRun(const std::byte* in, int run, int32_t* q) {
  const uint8_t* packed = U8(in + 16) + run / 2 * 32;
  for (int l = 0; l < 32; ++l) q[l] = (packed[l] >> (4 * (run % 2))) & 15;
}

}  // namespace

void DecodeQ2_K(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 84) {
    const uint8_t* scales = U8(in);
    const float d = LoadHalf(in + 80);
    const float dmin = LoadHalf(in + 82);
    for (int run = 0; run < 8; ++run, out += 32) {  // 32 elements: half run / 4, pair run % 4
      const uint8_t* packed = U8(in + 16) + run / 4 * 32;
      int32_t q[32];
      for (int l = 0; l < 32; ++l) q[l] = Pair(packed[l], run % 4);
      for (int half = 0; half < 2; ++half) {
        const uint8_t sm = scales[2 * run + half];
        ScaleRun(q + 16 * half, 16, d * static_cast<float>(sm & 15),
                 dmin * static_cast<float>(sm >> 4), out + 16 * half);
      }
    }
  }
}

void DecodeQ3_K(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 110) {
    const uint8_t* third = U8(in);
    const float d = LoadHalf(in + 108);
    int32_t s[16];
    UnpackScales16(U8(in + 96), s);
    for (int run = 0; run < 8; ++run, out += 32) {
      const uint8_t* packed = U8(in + 32) + run / 4 * 32;
      const float scale[2] = {d * static_cast<float>(s[2 * run] - 32),
                              d * static_cast<float>(s[2 * run + 1] - 32)};
      int32_t q[32];
      for (int l = 0; l < 32; ++l)
        q[l] = (Pair(packed[l], run % 4) | ((third[l] >> run) & 1) << 2) - 4;
      for (int l = 0; l < 32; ++l) out[l] = static_cast<float>(q[l]) * scale[l / 16];
    }
  }
}

void DecodeQ4_K(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 144) {
    const float d = LoadHalf(in);
    const float dmin = LoadHalf(in + 2);
    int32_t s[8], m[8];
    UnpackScalesAndMins(U8(in + 4), s, m);
    for (int run = 0; run < 8; ++run, out += 32) {
      int32_t q[32];
      UnpackQ4_KRun(in, run, q);
      ScaleRun(q, 32, d * static_cast<float>(s[run]), dmin * static_cast<float>(m[run]), out);
    }
  }
}

void DecodeQ5_K(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 176) {
    const float d = LoadHalf(in);
    const float dmin = LoadHalf(in + 2);
    int32_t s[8], m[8];
    UnpackScalesAndMins(U8(in + 4), s, m);
    const uint8_t* fifth = U8(in + 16);
    for (int run = 0; run < 8; ++run, out += 32) {
      const uint8_t* packed = U8(in + 48) + run / 2 * 32;
      int32_t q[32];
      for (int l = 0; l < 32; ++l)
        q[l] = ((packed[l] >> (4 * (run % 2))) & 15) | ((fifth[l] >> run) & 1) << 4;
      ScaleRun(q, 32, d * static_cast<float>(s[run]), dmin * static_cast<float>(m[run]), out);
    }
  }
}

void DecodeQ6_K(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 210) {
    const int8_t* s = reinterpret_cast<const int8_t*>(in + 192);
    const float d = LoadHalf(in + 208);
    for (int run = 0; run < 8; ++run, out += 32) {  // half run / 4, quarter run % 4 of it
      const int quarter = run % 4;
      const uint8_t* low = U8(in) + run / 4 * 64 + quarter % 2 * 32;
      const uint8_t* high = U8(in + 128) + run / 4 * 32;
      const float scale[2] = {d * static_cast<float>(s[2 * run]),
                              d * static_cast<float>(s[2 * run + 1])};
      int32_t q[32];
      for (int l = 0; l < 32; ++l)
        q[l] = (((low[l] >> (4 * (quarter / 2))) & 15) | Pair(high[l], quarter) << 4) - 32;
      for (int l = 0; l < 32; ++l) out[l] = static_cast<float>(q[l]) * scale[l / 16];
    }
  }
}

void KeepQ4_K(const std::byte* in, int64_t blocks, KeptBlocks out) {
  for (int64_t b = 0; b < blocks / 8; ++b, in += 144) {
    const float d = LoadHalf(in);
    const float dmin = LoadHalf(in + 2);
    int32_t s[8], m[8];
    UnpackScalesAndMins(U8(in + 4), s, m);
    for (int run = 0; run < 8; ++run) {
      int32_t q[32];
      UnpackQ4_KRun(in, run, q);
      for (int l = 0; l < 32; ++l) out.q[(8 * b + run) * 32 + l] = static_cast<int8_t>(q[l]);
      out.scales[8 * b + run] = RoundToF16(d * static_cast<float>(s[run]));
      out.mins[8 * b + run] = -RoundToF16(dmin * static_cast<float>(m[run]));
    }
  }
}

}  // namespace hexlane
