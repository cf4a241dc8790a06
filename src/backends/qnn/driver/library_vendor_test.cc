#include <cstdlib>
#include <fstream>

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/testing.h"

namespace hexlane::qnn {
namespace {

namespace fs = std::filesystem;

TEST(Library, TellsItsVersions) {
  auto library = MUST(Library::Open(TestLibraryPath()));
  EXPECT_EQ(library->core_version().major, 2u);
  EXPECT_GE(library->core_version().minor, 8u);
  EXPECT_FALSE(library->build_id().empty());
}

TEST(Library, ExplicitPlaceMayBeFileOrFolder) {
  const fs::path file = TestLibraryPath();
  EXPECT_EQ(MUST(FindLibrary(file)), file);
  EXPECT_EQ(MUST(FindLibrary(file.parent_path())), file);
}

TEST(Library, MissingLibraryListsEveryPlaceSearched) {
  const auto missing = FindLibrary("/nowhere/lib");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::kEnvironment);
  const fs::path empty = fs::path(testing::TempDir()) / "empty_sdk";
  fs::create_directories(empty);
  const auto none = FindLibrary(empty);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::kEnvironment);
  EXPECT_NE(none.error().where.find((empty / "libQnnHtp.so").string()), std::string::npos);
  EXPECT_NE(none.error().remedy.find("HEXLANE_QNN"), std::string::npos);
}

TEST(Library, OtherFilesAreRefused) {
  const fs::path folder = fs::path(testing::TempDir()) / "not_a_library";
  fs::create_directories(folder);
  const fs::path text = folder / "libQnnHtp.so";
  std::ofstream(text) << "not a library";
  const auto refused = Library::Open(text);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kEnvironment);
  const auto other = Library::Open("libm.so.6");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, Code::kEnvironment);
  EXPECT_NE(other.error().want.find("QnnInterface_getProviders"), std::string::npos);
}

TEST(Library, UnknownSocIsNamed) {
  auto library = MUST(Library::Open(TestLibraryPath()));
  const auto refused = Device::Create(library, 9999);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().ToString().find("9999"), std::string::npos);
  EXPECT_NE(refused.error().got.find("does not know the SoC"), std::string::npos);
}

TEST(Library, StandardOutputStaysClean) {
  testing::internal::CaptureStdout();
  {
    GraphBuilder builder = MUST(GraphBuilder::Create(MUST(Context::Create(TestDevice())), "g"));
    const Ref x = MUST(builder.Input("x", Half({1, 1, 1, 64})));
    const Ref y = MUST(builder.Output("y", Half({1, 1, 1, 64})));
    MUST(builder.Add({.type = "Sigmoid", .name = "s", .inputs = {x}, .into = y}));
    CompiledGraph graph = MUST(std::move(builder).Finalize());
    ExecuteOn(graph, {{"x", std::vector<float>(64)}});
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace hexlane::qnn
