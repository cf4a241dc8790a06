// `hexlane export ort`, judged by ONNX Runtime with Qualcomm's execution provider: every output of
// every stage has the bits that Hexlane's own executor computes.
#include <gmock/gmock.h>

#include <cstring>

#include "backends/qnn/driver/testing.h"
#include "base/dtype.h"
#include "base/file.h"
#include "compiler/ep_context.h"
#include "models.h"
#include "run_stages.h"

namespace hexlane::e2e {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

void WriteBytes(const fs::path& path, const std::vector<std::byte>& bytes) {
  fs::create_directories(path.parent_path());
  WriteFile(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

fs::path Root() { return TestData() / "../.."; }

class ExportOrt : public ScratchTest {
 protected:
  // A package of the tiny model with emulator binaries, and its export.
  void ExportTiny(const Arguments& scheme) const {
    Arguments convert = {
        "convert", CopyTinyModel("model"), "-o", Path("package"), "--soc", "SM8650", "--emulator"};
    for (const Arguments& more : {scheme, TinyOptions()})
      convert.insert(convert.end(), more.begin(), more.end());
    const CliResult converted = RunCli(convert);
    ASSERT_EQ(converted.exit_code, 0) << converted.err;
    const CliResult exported =
        RunCli({"export", "ort", Path("package"), "-o", Path("export"), "--emulator", "--json"});
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
    EXPECT_EQ(exported.json()["rows"], Json({1, 16}));
  }

  void RunOurselves() const {
    fs::current_path(Root());
    const auto library = qnn::FindLibrary();
    ASSERT_TRUE(library.has_value()) << "no vendor library: run tools/setup.sh";
    const auto done =
        RunStages({.package = Path("package"), .variant = "SM8650-emulator", .library = *library},
                  Path("stages"));
    ASSERT_TRUE(done.has_value()) << done.error().ToString();
  }

  CliResult RunInOnnxRuntime() const {
    return RunPython({"run_ort.py", Path("export"), Path("stages")});
  }

  // A script of this folder.
  static CliResult RunPython(Arguments arguments) {
    arguments[0] = (Root() / "tests/e2e" / arguments[0]).string();
    return RunCli(arguments, {.program = (Root() / ".venv/bin/python").string()});
  }
};

class Bits : public ExportOrt, public testing::WithParamInterface<Arguments> {};
INSTANTIATE_TEST_SUITE_P(Scheme, Bits,
                         testing::Values(Arguments{"--quant", "f16"},
                                         Arguments{"--quant", "w8a16", "--kv", "8"}));

TEST_P(Bits, OfEveryOutputAreHexlanesOwn) {
  ASSERT_NO_FATAL_FAILURE(ExportTiny(GetParam()));
  ASSERT_NO_FATAL_FAILURE(RunOurselves());
  const CliResult equal = RunInOnnxRuntime();
  ASSERT_EQ(equal.exit_code, 0) << equal.err << equal.out;
  const Json models = equal.json()["models"];
  EXPECT_THAT(models, SizeIs(2));
  for (const Json& model : models) {
    EXPECT_EQ(model["outputs"], 5) << "keys and values of two layers, logits: " << model;
    EXPECT_THAT(model["different"], IsEmpty());
  }
}

TEST_F(ExportOrt, OneBitOfDifferenceIsSeen) {
  ASSERT_NO_FATAL_FAILURE(ExportTiny({"--quant", "f16"}));
  ASSERT_NO_FATAL_FAILURE(RunOurselves());
  const fs::path logits = Path("stages/SM8650-emulator.1-3.r1c64/out/logits");
  std::string bytes = ReadFile(logits);
  bytes.back() ^= 1;
  WriteFile(logits, bytes);
  const CliResult different = RunInOnnxRuntime();
  EXPECT_EQ(different.exit_code, 1) << different.err;
  EXPECT_EQ(different.json()["models"][0]["different"], Json({"logits"}));
}

// The script follows docs/export.md and reads nothing but the export.
TEST_P(Bits, AreEnoughToGenerateHexlanesTokens) {
  ASSERT_NO_FATAL_FAILURE(ExportTiny(GetParam()));
  const CliResult ours = RunCli({"run", Path("package"), "--backend", "SM8650-emulator", "-p",
                                 "Hello", "-n", "12", "--ignore-eos", "--json"});
  ASSERT_EQ(ours.exit_code, 0) << ours.err;
  const CliResult theirs =
      RunPython({"generate_ort.py", Path("export"), "72,101,108,108,111", "12"});
  ASSERT_EQ(theirs.exit_code, 0) << theirs.err;
  EXPECT_EQ(ours.json()["tokens"], theirs.json()["tokens"]);
}

// f16 holds the embedding exactly: the table's rows are what the CPU looks up.
TEST_F(ExportOrt, TheEmbeddingTableHoldsEveryTokensRow) {
  ASSERT_NO_FATAL_FAILURE(ExportTiny({"--quant", "f16"}));
  const Json embedding = ReadJsonFile(Path("export/ort.json"))["embedding"];
  EXPECT_EQ(embedding["type"], "f16");
  const std::string table = ReadFile(Path("export") + "/" + embedding["file"].get<std::string>());
  const size_t rows = embedding["shape"][0], width = embedding["shape"][1];
  ASSERT_EQ(table.size(), rows * width * sizeof(uint16_t));
  const CliResult dump =
      RunCli({"dump", Path("package"), "--stage", "cpu", "--ids", "3,255", "-o", Path("dump")});
  ASSERT_EQ(dump.exit_code, 0) << dump.err;
  const std::string npy = ReadFile(Path("dump/embed.out.npy"));
  const size_t header = npy.size() - 2 * width * sizeof(float);
  for (size_t i = 0; i < 2 * width; ++i) {
    float want = 0;
    std::memcpy(&want, npy.data() + header + i * sizeof want, sizeof want);
    uint16_t bits = 0;
    const size_t row = i < width ? 3 : 255;
    std::memcpy(&bits, table.data() + (row * width + i % width) * sizeof bits, sizeof bits);
    ASSERT_EQ(F16ToF32(bits), want) << "row " << row << ", column " << i % width;
  }
}

// A context of two graphs, twice(x) of 1 and 2 rows, in one binary; the emulator can load one whose
// graphs share no weights. Writes the binary, a model for each graph, the index, and what each
// graph computes.
void WriteTwoGraphs(const fs::path& folder, const fs::path& stages) {
  const auto context = MUST(qnn::Context::Create(qnn::TestDevice()));
  Json models = Json::array();
  for (const int64_t rows : {1, 2}) {
    const std::string name = "twice" + std::to_string(rows);
    const qnn::TensorSpec spec = qnn::Fixed(16, {1, 1, rows, 8}, 4);
    auto builder = MUST(qnn::GraphBuilder::Create(context, name));
    const qnn::Ref x = MUST(builder.Input("x", spec));
    const qnn::Ref y = MUST(builder.Output("y", qnn::Fixed(16, spec.shape, 8)));
    MUST(builder.Add({.type = "ElementWiseAdd", .name = "add", .inputs = {x, x}, .into = y}));
    qnn::CompiledGraph graph = MUST(std::move(builder).Finalize());
    const std::vector<float> in = qnn::Random(static_cast<size_t>(rows) * 8, 4, 1);
    WriteBytes(stages / name / "in/x", qnn::Encoded(spec, in));
    WriteBytes(stages / name / "out/y", qnn::Encoded(qnn::Fixed(16, spec.shape, 8),
                                                     qnn::ExecuteOn(graph, {{"x", in}})["y"]));
    WriteFile(folder / (name + ".onnx"),
              MUST(EpContextOnnx({.graph = name,
                                  .binary = "two.bin",
                                  .inputs = {{"x", DType::kU16, spec.shape}},
                                  .outputs = {{"y", DType::kU16, spec.shape}}})));
    models.push_back({{"file", name + ".onnx"}, {"binary", "two.bin"}});
  }
  WriteBytes(folder / "two.bin", MUST(context->Serialize()));
  WriteFile(folder / "ort.json", Json{{"parts", {{{"models", models}}}}}.dump());
}

// What a phone's binaries need: their stages share weights, so several graphs are in one.
TEST_F(ExportOrt, ModelsFindTheirGraphsInOneSharedBinary) {
  fs::create_directories(Path("export"));
  WriteTwoGraphs(Path("export"), Path("stages"));
  const CliResult result = RunInOnnxRuntime();
  EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_THAT(result.json()["models"], SizeIs(2));
}

TEST_F(ExportOrt, TakesTheStagesThatAreAskedForOrNone) {
  ASSERT_NO_FATAL_FAILURE(ExportTiny({"--quant", "f16"}));
  Arguments some = {"export", "ort", Path("package"), "-o", Path("some"), "--context", "64"};
  EXPECT_EQ(RunCli(some).exit_code, 0);
  some.back() = "128";
  ExpectRefused(RunCli(some), 3, {"no stage", "r1c64, r16c64"});
  some[5] = "--prefill-rows";
  ExpectRefused(RunCli(some), 3, {"no stage", "r1c64, r16c64"});
  some.back() = "1";
  EXPECT_EQ(RunCli(some).exit_code, 0);
  EXPECT_EQ(ReadJsonFile(Path("some/ort.json"))["parts"][0]["models"].size(), 1u);
}

TEST_F(ExportOrt, RefusesWhatOnnxRuntimeCannotRun) {
  const std::string package = TinyPackage("package");
  ExpectRefused(RunCli({"export", "ort", package, "-o", Path("export")}), 3,
                {"no context binaries", "--soc SM8650"});
  EXPECT_FALSE(fs::exists(Path("export")));
}

}  // namespace
}  // namespace hexlane::e2e
