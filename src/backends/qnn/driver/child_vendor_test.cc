#include "backends/qnn/driver/child.h"
#include "backends/qnn/driver/testing.h"

namespace hexlane::qnn {
namespace {

TEST(Child, TheLibrarysOwnCrashIsAnErrorToo) {
  const auto result = RunInChild([](Child& child) -> Result<std::string> {
    auto library = TRY(Library::Open(TestLibraryPath()));
    auto context = TRY(Context::Create(TRY(Device::Create(library, 57))));
    GraphOptions options;
    options.activity = &child.activity();
    GraphBuilder builder = TRY(GraphBuilder::Create(context, "g", options));
    const Ref x = TRY(builder.Input("x", Half({4, 64})));
    PerBlock quant{{32, 1}, std::vector<ScaleOffset>(2 * 64, {0.01f, 0})};
    const Ref w = TRY(
        builder.Constant("w", {DataType::kSFixed8, {64, 64}, quant}, std::vector<int8_t>(64 * 64)));
    // f16 MatMul with block-quantised weights: the library divides by zero.
    const Ref y = TRY(builder.Output("y", Half({4, 64})));
    TRY(builder.Add({.type = "MatMul", .name = "layers.0.up", .inputs = {x, w}, .into = y}));
    TRY(std::move(builder).Finalize());
    return "";
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kVendor) << result.error().ToString();
  EXPECT_NE(result.error().what.find("crashed (signal 8"), std::string::npos)
      << result.error().ToString();
}

}  // namespace
}  // namespace hexlane::qnn
