// manifest.json and weights.json from anyone: never a crash, and what is accepted is accepted again
// after being written.
#include "base/check.h"
#include "package/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hexlane;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto manifest = ParseManifest(text, "manifest.json"))
    CHECK(ParseManifest(ManifestText(*manifest), "again").has_value());
  if (const auto entries = ParseWeightIndex(text, size_t{1} << 40, "weights.json"))
    CHECK(ParseWeightIndex(WeightIndexText(*entries), size_t{1} << 40, "again").has_value());
  return 0;
}
