// GGUF bytes nobody vouches for: read the tables, the vocabulary, and every tensor.
#include "formats/checkpoint.h"
#include "formats/gguf/gguf_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hexlane;
  const auto bytes = std::as_bytes(std::span(data, size));
  auto parts = GgufParts(bytes, nullptr, "fuzz.gguf");
  if (!parts) return 0;
  const Checkpoint checkpoint(*std::move(parts));
  (void)checkpoint.tokenizer_files();
  (void)checkpoint.config().dump();
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    (void)checkpoint.ReadFloats(tensor);
    (void)checkpoint.ReadKept(tensor);
  }
  return 0;
}
