// One element per block.
#include "formats/decode/bits.h"
#include "formats/decode/decode.h"

namespace hexlane {
namespace {
template <typename T>
void Convert(const std::byte* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(Load<T>(in + i * sizeof(T)));
}
}  // namespace

void DecodeF64(const std::byte* in, int64_t count, float* out) { Convert<double>(in, count, out); }
void DecodeI64(const std::byte* in, int64_t count, float* out) { Convert<int64_t>(in, count, out); }
void DecodeI32(const std::byte* in, int64_t count, float* out) { Convert<int32_t>(in, count, out); }
void DecodeI16(const std::byte* in, int64_t count, float* out) { Convert<int16_t>(in, count, out); }
void DecodeI8(const std::byte* in, int64_t count, float* out) { Convert<int8_t>(in, count, out); }
void DecodeU64(const std::byte* in, int64_t count, float* out) {
  Convert<uint64_t>(in, count, out);
}
void DecodeU32(const std::byte* in, int64_t count, float* out) {
  Convert<uint32_t>(in, count, out);
}
void DecodeU16(const std::byte* in, int64_t count, float* out) {
  Convert<uint16_t>(in, count, out);
}
void DecodeU8(const std::byte* in, int64_t count, float* out) { Convert<uint8_t>(in, count, out); }

void DecodeF32(const std::byte* in, int64_t count, float* out) {
  if (count > 0) std::memcpy(out, in, static_cast<size_t>(count) * sizeof(float));
}

void DecodeF16(const std::byte* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = LoadHalf(in + 2 * i);
}

void DecodeBF16(const std::byte* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = std::bit_cast<float>(static_cast<uint32_t>(Load<uint16_t>(in + 2 * i)) << 16);
}

void DecodeBool(const std::byte* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = in[i] == std::byte{0} ? 0.0f : 1.0f;
}

}  // namespace hexlane
