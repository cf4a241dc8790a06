// Damaged and hostile packages: exit code 3 and a message that names the file, never a crash.
#include <gmock/gmock.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class BadPackage : public ScratchTest {
 protected:
  BadPackage() { good_ = TinyPackage("good", "w8a16"); }

  // A fresh copy of the package, where `file` has the text that `edit` makes of it.
  std::string With(const std::string& file,
                   const std::function<std::string(std::string)>& edit) const {
    fs::remove_all(Path("bad"));
    fs::copy(good_, Path("bad"), fs::copy_options::recursive);
    WriteFile(scratch() / "bad" / file, edit(ReadFile(fs::path(good_) / file)));
    return Path("bad");
  }

  CliResult Run(const std::string& package) const {
    return RunCli({"run", package, "-p", "ab", "-n", "3"}, {.timeout = 60});
  }

  std::string good_;
};

TEST_F(BadPackage, AnyFlippedByteAndAnyMissingPartIsNoticed) {
  ASSERT_EQ(Run(good_).exit_code, 0);
  for (const std::string& file : FilesOf(good_)) {
    SCOPED_TRACE(file);
    // A byte of the manifest may be one of another file's hash: that file is named then.
    const std::string named = file == "manifest.json" ? "bad/" : "/" + file;
    ExpectRefused(Run(With(file,
                           [](std::string text) {
                             text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
                             return text;
                           })),
                  3, {named});
    ExpectRefused(Run(With(file, [](const std::string& t) { return t.substr(0, t.size() / 2); })),
                  3, {"/" + file});
    fs::remove(scratch() / "bad" / file);
    ExpectRefused(Run(Path("bad")), 3, {"/" + file});
  }
}

// Numbers of a JSON document, each replaced by something hostile.
void ForEachHostileNumber(const Json& json, const std::function<void(const Json&)>& try_it) {
  const Json flat = json.flatten();
  int count = 0;
  for (const auto& [path, value] : flat.items()) {
    if (!value.is_number() || ++count % 5 != 0) continue;  // a sample: each takes a process
    for (const Json& bad : {Json(-1), Json(1ll << 40), Json("x")}) {
      Json changed = json;
      changed[Json::json_pointer(path)] = bad;
      try_it(changed);
    }
  }
}

TEST_F(BadPackage, HostileManifestsAndIndexesNeverCrash) {
  for (const std::string file : {"manifest.json", "weights.json", "cpu/cpu.0-3.json"}) {
    ForEachHostileNumber(ReadJsonFile(fs::path(good_) / file), [&](const Json& changed) {
      const std::string package = With(file, [&](const std::string&) { return changed.dump(); });
      if (file != "manifest.json") Reseal(package);
      const CliResult result = Run(package);
      EXPECT_THAT(result.exit_code, AnyOf(0, 3)) << file << result.signal << result.err;
    });
  }
}

TEST_F(BadPackage, HostileTapesAndIndexesAreRefusedThoughSealed) {
  for (const std::string& file : FilesOf(good_)) {
    if (!file.ends_with(".json") || file.ends_with("config.json") || file == "report.json" ||
        file == "manifest.json")
      continue;
    for (const std::string& bad :
         {std::string("{}"), std::string("[]"), std::string(100000, '[')}) {
      const std::string package = With(file, [&](const std::string&) { return bad; });
      Reseal(package);
      ExpectRefused(Run(package), 3, {file.substr(file.rfind('/') + 1)});
    }
  }
}

TEST_F(BadPackage, MalformedUnitsAreRefusedThoughSealed) {
  const std::string unit = "units/1.hxir", text = ReadFile(fs::path(good_) / unit);
  const auto eval = [&](const std::string& bad) {
    const std::string package = With(unit, [&](const std::string&) { return bad; });
    Reseal(package);
    return RunCli({"dump", package, "--ids", "1,2", "--stage", "quant", "-o", Path("dump")},
                  {.timeout = 60});
  };
  for (const std::string& bad : {std::string(), std::string("garbage"), text.substr(0, 200),
                                 std::string(100000, '('), text + text})
    ExpectRefused(eval(bad), 3, {unit});
  for (size_t at = 11; at < text.size(); at += 131) {
    std::string bad = text;
    bad[at] = bad[at] == '9' ? '(' : '9';
    const CliResult result = eval(bad);
    EXPECT_THAT(result.exit_code, AnyOf(0, 3)) << at << " signal " << result.signal << result.err;
  }
}

TEST_F(BadPackage, EncodingsThatCannotBeAreNamedByLine) {
  for (const char* bad :
       {"@i32(", "@i64(", "@u64(", "@f64(", "@bool(", "@bf16(", "@u16(-", "@u16(0"}) {
    SCOPED_TRACE(bad);
    const std::string package = With("units/1.hxir", [&](std::string text) {
      const size_t at = text.find("@u16(");
      const size_t comma = text.find(',', at);
      const std::string tail = bad[5] == '0' ? text.substr(comma) : text.substr(at + 5);
      return text.substr(0, at) + bad + tail;
    });
    Reseal(package);
    ExpectRefused(RunCli({"dump", package, "--ids", "1", "--stage", "quant", "-o", Path("dump")}),
                  3, {"units/1.hxir:", "encoding"});
  }
}

TEST_F(BadPackage, LogitsThatAreNoNumbersAreRefused) {
  const std::string package = TinyPackage("nan", "f16");
  const Json index = ReadJsonFile(fs::path(package) / "weights.json");
  for (const Json& weight : index["weights"]) {
    if (weight["name"] != "final_norm.weight") continue;
    std::string bytes = ReadFile(fs::path(package) / "weights.bin");
    bytes.replace(weight["offset"], weight["bytes"], weight["bytes"].get<size_t>(), '\xff');
    WriteFile(fs::path(package) / "weights.bin", bytes);
  }
  Reseal(package);
  WriteFile(Path("text"), std::string(40, 'a'));
  for (const char* stage : {"quant", "cpu"}) {
    ExpectRefused(
        RunCli({"eval", package, "--text", Path("text"), "--window", "16", "--stage", stage}), 3,
        {"not finite", "nan"});
    ExpectRefused(RunCli({"dump", package, "--ids", "1,2", "--stage", stage, "-o", Path("dump")}),
                  3, {"not finite", "logits"});
  }
  EXPECT_FALSE(fs::exists(Path("dump")));
}

TEST_F(BadPackage, BenchesLongerThanTheContextAreRefused) {
  for (const char* tokens : {"2147483647", "60"})
    ExpectRefused(RunCli({"bench", good_, "--prompt-tokens", tokens, "--decode-tokens", "5"}), 3,
                  {tokens, "at most 64", "--context"});
  EXPECT_EQ(RunCli({"bench", good_, "--prompt-tokens", "59", "--decode-tokens", "5",
                    "--repetitions", "1"})
                .exit_code,
            0);
}

TEST_F(BadPackage, NamesThatNothingHasAreUsage) {
  WriteFile(Path("text"), std::string(40, 'a'));
  ExpectRefused(RunCli({"run", good_, "-p", "x", "--backend", "nope"}), 2, {"nope", "cpu"});
  ExpectRefused(RunCli({"run", good_, "-p", "x", "--soc", "NOPE"}), 2, {"NOPE", "cpu"});
  ExpectRefused(RunCli({"eval", good_, "--text", Path("text"), "--soc", "NOPE"}), 2, {"NOPE"});
  ExpectRefused(RunCli({"verify", good_, "--soc", "SM8650"}), 2, {"SM8650", "cpu"});
}

TEST_F(BadPackage, OnTheCpuTheEmulatorIsOfferedWhereThePackageHasOne) {
  EditJson(fs::path(good_) / "manifest.json", [](Json& manifest) {
    Json& variants = manifest["plan"]["variants"];
    Json emulator = variants[0];
    emulator["name"] = "SM8650-emulator";
    emulator["soc"] = "SM8650";
    variants.push_back(emulator);
  });
  const CliResult run = Run(good_);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("--backend SM8650-emulator"));
}

TEST_F(BadPackage, AFullContextIsTheReasonToEnd) {
  const CliResult run =
      RunCli({"run", good_, "-p", "a", "--context", "20", "-n", "0", "--ignore-eos", "--json"});
  EXPECT_EQ(run.json()["finish_reason"], "context") << run.err;
  ExpectRefused(RunCli({"run", good_, "-p", ""}), 3, {"prompt that is not empty"});
}

TEST_F(BadPackage, AChangedCheckpointIsNotComparedSilently) {
  const std::string config = good_ + ".model/config.json";
  WriteFile(config, ReadFile(config) + "\n");
  ExpectRefused(RunCli({"verify", good_}), 3, {config, "was changed", "--checkpoint"});
  EXPECT_EQ(RunCli({"dump", good_, "--checkpoint", good_ + ".model", "--ids", "1", "--stage",
                    "float", "-o", Path("dump")})
                .exit_code,
            0);
}

TEST_F(BadPackage, PromptsLongerThanTheContextAreRefusedByHowMuch) {
  ExpectRefused(RunCli({"run", good_, "-p", std::string(100, 'x')}), 3,
                {"36 tokens too long", "64", "--context"});
  const std::string ids = [] {
    std::string list = "1";
    for (int i = 1; i < 70; ++i) list += ",1";
    return list;
  }();
  for (const char* stage : {"cpu", "quant", "float"})
    ExpectRefused(RunCli({"dump", good_, "--ids", ids, "--stage", stage, "-o", Path("dump")}), 3,
                  {"6 tokens too long"});
  ExpectRefused(RunCli({"dump", good_, "--ids", "999", "--stage", "cpu", "-o", Path("dump")}), 3,
                {"999", "255"});
  EXPECT_FALSE(fs::exists(Path("dump")));
}

TEST_F(BadPackage, WhatThePackageDoesNotHaveIsListed) {
  ExpectRefused(RunCli({"run", good_, "-p", "x", "--backend", "htp"}), 3, {"cpu", "htp"});
  ExpectRefused(RunCli({"run", Path("nowhere"), "-p", "x"}), 3, {"nowhere", "hexlane convert"});
  ExpectRefused(RunCli({"run", good_, "-p", "x", "--chat"}), 3, {"template"});
  ExpectRefused(RunCli({"eval", good_, "--text", Path("nowhere")}), 3, {"nowhere"});
  WriteFile(Path("short"), "a b c");
  ExpectRefused(RunCli({"eval", good_, "--text", Path("short")}), 3, {"short", "--window"});
  WriteFile(Path("long"), std::string(200, 'a'));
  ExpectRefused(RunCli({"eval", good_, "--text", Path("long"), "--window", "100"}), 3,
                {"window of 100", "--window 64"});
}

}  // namespace
}  // namespace hexlane::e2e
