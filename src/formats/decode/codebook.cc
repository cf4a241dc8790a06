// Four-bit indices into a fixed table of values; byte j of 16 holds elements j (low nibble) and j +
// 16 of a run of 32.
//   IQ4_NL  d, 16 bytes                                        w = table[q] d
//   IQ4_XS  d, 8 high pairs of s, 8 low nibbles of s, 128 q    w = table[q] (d (s - 32)), 8 runs of
//   32 in 256 MXFP4   exponent e, 16 bytes                               w = fp4[q] 2^(e - 127)
//   (OCP microscaling, E2M1 elements)
#include "formats/decode/bits.h"
#include "formats/decode/decode.h"

namespace hexlane {
namespace {

constexpr float kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};
constexpr float kTwiceFp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline void LookUp(const float* table, const std::byte* in, float scale, float* out) {
  const uint8_t* packed = U8(in);
  for (int j = 0; j < 16; ++j) {
    out[j] = table[packed[j] & 15] * scale;
    out[j + 16] = table[packed[j] >> 4] * scale;
  }
}

// 2^(e - 128): half of the block's scale, as the table holds twice the values; subnormal for e < 2.
inline float HalfScale(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

}  // namespace

void DecodeIQ4_NL(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 18, out += 32)
    LookUp(kNonLinear, in + 2, LoadHalf(in), out);
}

void DecodeIQ4_XS(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 136) {
    const float d = LoadHalf(in);
    const uint32_t high = Load<uint16_t>(in + 2);
    const uint32_t low = Load<uint32_t>(in + 4);
    for (int run = 0; run < 8; ++run, out += 32) {
      const int32_t s =
          static_cast<int32_t>(((low >> (4 * run)) & 15) | ((high >> (2 * run)) & 3) << 4);
      LookUp(kNonLinear, in + 8 + 16 * run, d * static_cast<float>(s - 32), out);
    }
  }
}

void DecodeMXFP4(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 17, out += 32)
    LookUp(kTwiceFp4, in + 1, HalfScale(U8(in)[0]), out);
}

}  // namespace hexlane
