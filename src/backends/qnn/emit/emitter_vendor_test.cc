// Whole layers through the emitter, on the emulator, against the same quantised graph in exact
// arithmetic.
#include "backends/emitters.h"
#include "backends/qnn/driver/testing.h"
#include "backends/qnn/emit/tiny_decoder.h"
#include "backends/qnn/io/contract.h"
#include "base/file.h"

namespace hexlane::qnn {
namespace {

const std::vector<int32_t> kIds = {5, 17, 99, 3, 64, 120};

double Cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    ab += double(a[i]) * b[i];
    aa += double(a[i]) * a[i];
    bb += double(b[i]) * b[i];
  }
  return a.size() == b.size() ? ab / std::sqrt(aa * bb) : -1;
}

// Everything but the embedding, as one part.
EmitArgs PartOf(const QuantisedDecoder& decoder, const std::string& folder, const char* soc) {
  EmitArgs args;
  args.units = decoder.source();
  args.first_unit = 1;
  args.unit_count = static_cast<int>(decoder.units.size()) - 1;
  args.target = MUST(FindTarget(soc));
  args.directory = std::filesystem::path(testing::TempDir()) / folder;
  args.stem = std::string("htp/") + soc;
  args.vendor_library = TestLibraryPath();
  std::filesystem::create_directories(args.directory / "htp");
  return args;
}

struct SchemeCase {
  const char* scheme;
  int kv_bits;
  const char* soc;
};

void PrintTo(const SchemeCase& of, std::ostream* out) {
  *out << of.scheme << " kv" << of.kv_bits << " " << of.soc;
}

class EveryScheme : public testing::TestWithParam<SchemeCase> {};
INSTANTIATE_TEST_SUITE_P(
    Scheme, EveryScheme,
    testing::Values(SchemeCase{"f16", 16, "SM8650"}, SchemeCase{"w8a16", 16, "SM8650"},
                    SchemeCase{"w8a16", 8, "SM8450"}, SchemeCase{"w4a16", 16, "SM8550"},
                    SchemeCase{"w4a16", 8, "SM8850"}, SchemeCase{"w4-exact", 16, "SM8650"},
                    SchemeCase{"w4-exact", 16, "SM8450"}, SchemeCase{"w4a16-b16", 8, "SM8650"},
                    SchemeCase{"w4a16-b64", 16, "SM8550"}, SchemeCase{"w4c-a16", 8, "SM8650"},
                    SchemeCase{"w4c-f16", 16, "SM8650"}, SchemeCase{"w8-f16", 16, "SM8650"},
                    SchemeCase{"w3a16", 8, "SM8650"}, SchemeCase{"w3c-a16", 16, "SM8750"},
                    SchemeCase{"w4-block32", 16, "SM8650"}, SchemeCase{"w4-asym", 16, "SM8650"},
                    SchemeCase{"w4-asym128", 16, "SM8650"}, SchemeCase{"w8a8", 8, "SM8650"},
                    SchemeCase{"w8a8", 8, "SM8450"}, SchemeCase{"w4a8", 8, "SM8650"},
                    SchemeCase{"w4a8", 16, "SM8650"}));

TEST_P(EveryScheme, ComputesWhatTheQuantisedGraphSays) {
  const QuantisedDecoder decoder(GetParam().scheme, GetParam().kv_bits, kIds);
  EmitArgs args = PartOf(decoder, fmt::format("scheme_{}_{}", GetParam().scheme, GetParam().soc),
                         GetParam().soc);
  args.stages = {{8, 32}};  // two rows of padding
  args.all_logits = true;
  args.taps = {"layers.0.out", "layers.1.out"};
  Probe probe{.rows = 6, .ids = {}, .input = decoder.outputs.at("embed.out"), .outputs = {}};
  args.probe = &probe;
  const EmitResult result = MUST(NewQnnEmitter()->Emit(args));
  EXPECT_EQ(result.files.size(), 1u);
  EXPECT_GT(result.peak_rss_bytes, 0u);
  // What lies between two levels may fall either way: little of 16 bits, more of 8.
  const bool bytes = MUST(FindQuantScheme(GetParam().scheme))->activations == DType::kU8;
  const double least = bytes ? 0.997 : 0.9995;
  for (const char* name : {"layers.0.out", "layers.1.out", "logits"})
    EXPECT_GT(Cosine(decoder.outputs.at(name), probe.outputs[name]), least) << name;
}

TEST(Emitter, LogitsOfTheLastValidRowOnly) {
  const QuantisedDecoder decoder("w8a16", 16, kIds);
  EmitArgs args = PartOf(decoder, "last_row", "SM8650");
  args.stages = {{8, 32}};
  Probe probe{.rows = 6, .ids = {}, .input = decoder.outputs.at("embed.out"), .outputs = {}};
  args.probe = &probe;
  MUST(NewQnnEmitter()->Emit(args));
  const std::vector<float>& all = decoder.outputs.at("logits");
  const std::vector<float> last(all.end() - TinyDecoder::kVocab, all.end());
  EXPECT_GT(Cosine(last, probe.outputs["logits"]), 0.9995);
}

TEST(Emitter, APartMayBeginWithTheEmbedding) {
  const QuantisedDecoder decoder("w8a16", 8, kIds);
  EmitArgs args = PartOf(decoder, "embedding", "SM8650");
  args.first_unit = 0;
  args.unit_count = static_cast<int>(decoder.units.size()) - 1;  // all but the head
  args.stages = {{8, 32}};
  args.graph_suffix = "_001";
  Probe probe{.rows = 6, .ids = kIds, .input = {}, .outputs = {}};
  args.probe = &probe;
  const EmitResult result = MUST(NewQnnEmitter()->Emit(args));
  EXPECT_GT(Cosine(decoder.outputs.at("layers.1.out"), probe.outputs["layers.1.out"]), 0.9995);
  const std::string text = MUST(ReadTextFile(args.directory / result.contract));
  const Contract contract = MUST(ContractFromJson(MUST(ParseJson(text, "c")), "c"));
  EXPECT_EQ(contract.graphs[0].name, "r8c32_001");
  EXPECT_EQ(contract.graphs[0].inputs[0].role, Role::kIds);
  EXPECT_EQ(contract.graphs[0].inputs[0].info.name, "input_ids");
  EXPECT_EQ(contract.graphs[0].outputs.back().info.name, "layers_1_out");
}

TEST(Emitter, WritesOneSharedBinaryAndItsContract) {
  const QuantisedDecoder decoder("w4a16", 8, kIds);
  EmitArgs args = PartOf(decoder, "shared", "SM8650");
  args.stages = {{1, 32}, {8, 32}};
  double last = 0;
  args.progress = [&](double fraction, std::string_view) { last = std::max(last, fraction); };
  const EmitResult result = MUST(NewQnnEmitter()->Emit(args));
  EXPECT_EQ(result.files, (std::vector<std::string>{"htp/SM8650.bin"}));
  EXPECT_TRUE(result.spill_fill_bytes.has_value());
  EXPECT_GT(last, 0.5);
  const std::string text = MUST(ReadTextFile(args.directory / result.contract));
  const Contract contract = MUST(ContractFromJson(MUST(ParseJson(text, "c")), "c"));
  ASSERT_EQ(contract.graphs.size(), 2u);
  EXPECT_EQ(contract.graphs[0].name, "r1c32");
  EXPECT_EQ(contract.graphs[1].file, "htp/SM8650.bin");
  EXPECT_EQ(contract.soc, 57u);
  // hidden, mask, cos, sin, last row, and two caches of two layers
  EXPECT_EQ(contract.graphs[1].inputs.size(), 9u);
}

TEST(Emitter, UnsharedStagesAreFilesOfTheirOwn) {
  const QuantisedDecoder decoder("f16", 16, kIds);
  EmitArgs args = PartOf(decoder, "unshared", "SM8650");
  args.stages = {{1, 32}, {8, 32}};
  args.share_weights = false;
  const EmitResult result = MUST(NewQnnEmitter()->Emit(args));
  EXPECT_EQ(result.files,
            (std::vector<std::string>{"htp/SM8650-r1c32.bin", "htp/SM8650-r8c32.bin"}));
}

TEST(Emitter, ErrorsOfUnitsComeThrough) {
  const QuantisedDecoder decoder("f16", 16, kIds);
  EmitArgs args = PartOf(decoder, "broken", "SM8650");
  args.stages = {{1, 32}};
  args.units.load = [](int unit) -> Result<Graph> { return Corrupt("unit {} is broken", unit); };
  const auto result = NewQnnEmitter()->Emit(args);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().what, "unit 1 is broken");
}

TEST(Emitter, AnUnusableFolderIsAnErrorWithThePath) {
  const QuantisedDecoder decoder("f16", 16, kIds);
  EmitArgs args = PartOf(decoder, "full", "SM8650");
  args.stages = {{1, 32}};
  args.directory = "/dev/full";
  const auto result = NewQnnEmitter()->Emit(args);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().ToString().find("/dev/full/htp/SM8650.bin"), std::string::npos)
      << result.error().ToString();
}

}  // namespace
}  // namespace hexlane::qnn
