// What the tests of packages, executors and the runtime share: a tiny sound plan. Header only, so
// that no product links it.
#ifndef HEXLANE_PACKAGE_TESTING_H_
#define HEXLANE_PACKAGE_TESTING_H_

#include "base/temp_dir.h"
#include "package/package.h"

namespace hexlane::testing {

// One part of backend "null" over all units; its file is not written.
inline Variant NullVariant(int units, std::vector<StageShape> stages) {
  Part part{.backend = "null", .unit_count = units, .input = "ids", .output = "logits"};
  part.files = {"null/model.null"};
  return {.name = "null", .stages = std::move(stages), .parts = {part}};
}

// A model of one layer with two stages, 4 and 1 rows over 16 positions.
inline Manifest TinyManifest() {
  Manifest manifest{.hexlane_version = "0.1.0", .source = "nowhere", .architecture = "llama"};
  manifest.scheme = "f16";
  manifest.vendor = {{"qnn", "2.1.0"}};
  manifest.conversion = Json::object();
  manifest.plan.model = {.layers = 1,
                         .hidden = 8,
                         .vocab = 32,
                         .kv_heads = 1,
                         .head_dim = 8,
                         .max_context = 16,
                         .eos_ids = {2}};
  manifest.plan.variants = {NullVariant(3, {{1, 16}, {4, 16}})};
  return manifest;
}

}  // namespace hexlane::testing

#endif  // HEXLANE_PACKAGE_TESTING_H_
