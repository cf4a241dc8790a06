// Elements -1, 0, 1 times one binary16 d, 256 to a block.
//   TQ1_0  48 bytes of five trits, 4 bytes of four, d. A byte holds its trits as a binary fraction
//   of 3^5 (rounded up):
//          trit n is the integer part of 3 · frac(byte · 3^n / 256). Runs of 32, 16 and 4 bytes;
//          element n · run + m.
//   TQ2_0  64 bytes, d. Byte m of a run of 32 holds elements m, m + 32, m + 64, m + 96 in pairs of
//   bits.
#include "formats/decode/bits.h"
#include "formats/decode/decode.h"

namespace hexlane {
namespace {

float* DecodeTrits(const uint8_t* packed, int bytes, int trits, float d, float* out) {
  uint8_t power = 1;
  for (int n = 0; n < trits; ++n, power *= 3, out += bytes) {
    for (int m = 0; m < bytes; ++m) {
      const uint8_t fraction = static_cast<uint8_t>(packed[m] * power);
      out[m] = static_cast<float>(((fraction * 3) >> 8) - 1) * d;
    }
  }
  return out;
}

}  // namespace

void DecodeTQ1_0(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 54) {
    const float d = LoadHalf(in + 52);
    out = DecodeTrits(U8(in), 32, 5, d, out);
    out = DecodeTrits(U8(in + 32), 16, 5, d, out);
    out = DecodeTrits(U8(in + 48), 4, 4, d, out);
  }
}

void DecodeTQ2_0(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 66) {
    const float d = LoadHalf(in + 64);
    for (int run = 0; run < 8; ++run, out += 32) {
      const uint8_t* packed = U8(in) + run / 4 * 32;
      for (int l = 0; l < 32; ++l)
        out[l] = static_cast<float>(((packed[l] >> (2 * (run % 4))) & 3) - 1) * d;
    }
  }
}

}  // namespace hexlane
