#include <gmock/gmock.h>

#include "backends/conformance/conformance.h"
#include "backends/executors.h"
#include "package/testing.h"

namespace hexlane {
namespace {

class NullExecutorTest : public ::testing::Test {
 protected:
  // Writes `manifest` as a package and checks the part `part` of its only variant.
  std::vector<std::string> Complaints(const Manifest& manifest, size_t part) {
    auto writer = PackageWriter::Create(dir_.path() / "p");
    EXPECT_TRUE(writer && writer->AddText("null/model.null", "") && writer->Finish(manifest));
    const auto package = Package::Open(dir_.path() / "p", {});
    if (!package) return {package.error().ToString()};
    const Variant& variant = (*package)->plan().variants[0];
    const auto executor =
        LoadNullExecutor({.package = *package, .variant = &variant, .part = &variant.parts[part]});
    if (!executor) return {executor.error().ToString()};
    return Conformance({executor->get(), package->get(), &variant, &variant.parts[part]});
  }
  testing::TempDir dir_;
};

TEST_F(NullExecutorTest, ConformsAsAWholeModel) {
  EXPECT_THAT(Complaints(testing::TinyManifest(), 0), ::testing::IsEmpty());
}

TEST_F(NullExecutorTest, ConformsAsTheFirstPart) {
  Manifest manifest = testing::TinyManifest();
  auto& parts = manifest.plan.variants[0].parts;
  parts = {{"null", 0, 1, "ids", "hidden", {"null/model.null"}, ""},
           {"null", 1, 2, "hidden", "logits", {}, ""}};
  EXPECT_THAT(Complaints(manifest, 0), ::testing::IsEmpty());
}

}  // namespace
}  // namespace hexlane
