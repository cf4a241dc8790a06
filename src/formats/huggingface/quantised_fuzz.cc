// A quantised folder nobody vouches for: u16 length of config.json, config.json, model.safetensors.
#include "base/json.h"
#include "formats/decode/bits.h"
#include "formats/huggingface/join_quantised.h"
#include "formats/safetensors/safetensors_reader.h"

namespace hexlane {
namespace {

void ReadAll(const Checkpoint& checkpoint) {
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    (void)checkpoint.ReadFloats(tensor);
    (void)checkpoint.ReadKept(tensor);
  }
}

}  // namespace
}  // namespace hexlane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hexlane;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (size < 2) return 0;
  const size_t length = std::min<size_t>(Load<uint16_t>(bytes.data()), size - 2);
  const auto config = ParseJson({reinterpret_cast<const char*>(data) + 2, length}, "config.json");
  auto file = ReadSafetensors(bytes.subspan(2 + length), "fuzz.safetensors");
  if (!config || !config->is_object() || !file) return 0;
  CheckpointParts parts;
  parts.config = *config;
  parts.tensors = std::move(file->tensors);
  if (JoinQuantised(parts)) ReadAll(Checkpoint(std::move(parts)));
  return 0;
}
