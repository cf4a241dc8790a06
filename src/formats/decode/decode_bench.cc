// Output bytes per second of each decoder.
#include <benchmark/benchmark.h>

#include <vector>

#include "formats/decode/decode.h"

namespace hexlane {
namespace {

void Decode(benchmark::State& state, StorageType type) {
  constexpr int64_t kElements = 1 << 16;
  const StorageInfo& info = Info(type);
  const int64_t blocks = kElements / info.block_elements;
  std::vector<std::byte> in(blocks * info.block_bytes, std::byte{0x35});
  std::vector<float> out(kElements);
  for (auto _ : state) {
    DecoderFor(type)(in.data(), blocks, out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kElements * 4);
}

#define DECODER(Name) BENCHMARK_CAPTURE(Decode, Name, StorageType::k##Name);
#include "formats/decode/decoders.def"
#undef DECODER

}  // namespace
}  // namespace hexlane
