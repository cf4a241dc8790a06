#include "models.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/file.h"

namespace hexlane::e2e {
namespace {

// Byte → the character that stands for it in a byte-level vocabulary, as UTF-8 (GPT-2's table).
std::string ByteLevelCharacter(int byte) {
  const auto is_itself = [](int b) {
    return (b >= 33 && b < 127) || (b >= 161 && b < 173) || b >= 174;
  };
  int code = byte;
  if (!is_itself(byte)) {
    code = 256;
    for (int before = 0; before < byte; ++before) code += !is_itself(before);
  }
  if (code < 128) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 63))};
}

Json ByteTokenizer() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[ByteLevelCharacter(byte)] = byte;
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
}

}  // namespace

fs::path TestData() { return HEXLANE_TEST_DATA; }
fs::path SmolModel() { return TestData() / "../../.assets/SmolLM2-135M-Instruct.Q4_1.gguf"; }
fs::path TinyCheckpoint() { return TestData() / "checkpoints/llama-gqa"; }
Arguments TinyOptions() { return {"--context", "64", "--prefill-rows", "16"}; }

std::string ReadFile(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

Json ReadJsonFile(const fs::path& path) { return Json::parse(ReadFile(path)); }

ScratchTest::ScratchTest() {
  std::string name = (fs::temp_directory_path() / "hexlane_e2e.XXXXXX").string();
  scratch_ = ::mkdtemp(name.data());
}

ScratchTest::~ScratchTest() {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

std::vector<std::string> ScratchTest::Listing() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(scratch_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string ScratchTest::CopyTinyModel(const std::string& name,
                                       const std::string& checkpoint) const {
  fs::copy(TestData() / "checkpoints" / checkpoint, scratch_ / name);
  WriteFile(scratch_ / name / "tokenizer.json", ByteTokenizer().dump());
  return Path(name);
}

std::string ScratchTest::TinyPackage(const std::string& name, const std::string& scheme) const {
  const std::string model = CopyTinyModel(name + ".model");
  Arguments arguments = {"convert", model, "-o", Path(name), "--quant", scheme};
  for (const std::string& option : TinyOptions()) arguments.push_back(option);
  const CliResult result = RunCli(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Path(name);
}

std::string ScratchTest::SmolPackage() const {
  EXPECT_TRUE(fs::exists(SmolModel())) << SmolModel() << " is missing: run tools/setup.sh";
  const CliResult result = RunCli({"convert", SmolModel(), "-o", Path("smol")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Path("smol");
}

void EditJson(const fs::path& path, const std::function<void(Json&)>& edit) {
  Json json = ReadJsonFile(path);
  edit(json);
  WriteFile(path, json.dump());
}

void EditSafetensors(const fs::path& path, const std::function<void(Json&, std::string&)>& edit) {
  const std::string file = ReadFile(path);
  uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  Json header = Json::parse(file.substr(sizeof size, size));
  std::string data = file.substr(sizeof size + size);
  edit(header, data);
  const std::string text = header.dump();
  size = text.size();
  std::string result(reinterpret_cast<const char*>(&size), sizeof size);
  WriteFile(path, result + text + data);
}

void Reseal(const fs::path& package) {
  EditJson(package / "manifest.json", [&](Json& manifest) {
    for (auto& [name, record] : manifest["files"].items()) {
      const std::string bytes = ReadFile(package / name);
      record["bytes"] = bytes.size();
      record["sha256"] = Sha256(std::as_bytes(std::span(bytes)));
    }
  });
}

std::vector<std::string> FilesOf(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

void ExpectRefused(const CliResult& result, int exit_code, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err << result.out;
  EXPECT_EQ(result.signal, 0) << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr("hexlane: "));
  for (const std::string& part : parts) EXPECT_THAT(result.err, testing::HasSubstr(part));
}

}  // namespace hexlane::e2e
