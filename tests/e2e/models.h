// Models and packages that the end-to-end tests work on, and ways to damage them.
#ifndef HEXLANE_TESTS_E2E_MODELS_H_
#define HEXLANE_TESTS_E2E_MODELS_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli_process.h"

namespace hexlane::e2e {

namespace fs = std::filesystem;

fs::path TestData();        // tests/data
fs::path SmolModel();       // SmolLM2-135M-Instruct, Q4_1
fs::path TinyCheckpoint();  // llama-gqa: 2 layers, 256 tokens, no tokenizer
Arguments TinyOptions();    // of convert, for the tiny models

std::string ReadFile(const fs::path& path);
void WriteFile(const fs::path& path, std::string_view bytes);
Json ReadJsonFile(const fs::path& path);

// A folder that goes with the test.
class ScratchTest : public testing::Test {
 protected:
  ScratchTest();
  ~ScratchTest() override;

  const fs::path& scratch() const { return scratch_; }
  std::string Path(std::string_view name) const { return (scratch_ / name).string(); }
  std::vector<std::string> Listing() const;  // names in the folder, sorted

  // The tiny checkpoint, or another of tests/data/checkpoints, with a tokenizer of one token a
  // byte.
  std::string CopyTinyModel(const std::string& name,
                            const std::string& checkpoint = "llama-gqa") const;
  // Its package, converted with --quant `scheme`.
  std::string TinyPackage(const std::string& name, const std::string& scheme = "f16") const;
  // SmolLM2's, CPU only.
  std::string SmolPackage() const;

 private:
  fs::path scratch_;
};

void EditJson(const fs::path& path, const std::function<void(Json&)>& edit);
// Changes the header and the data of a safetensors file.
void EditSafetensors(const fs::path& path, const std::function<void(Json&, std::string&)>& edit);
// Makes a package's manifest agree with its files again, as somebody with bad intentions would.
void Reseal(const fs::path& package);
// Files of a folder, relative.
std::vector<std::string> FilesOf(const fs::path& folder);

// The message is on stderr and names every one of `parts`.
void ExpectRefused(const CliResult& result, int exit_code, const std::vector<std::string>& parts);

}  // namespace hexlane::e2e

#endif  // HEXLANE_TESTS_E2E_MODELS_H_
