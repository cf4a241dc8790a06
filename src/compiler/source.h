// What a user points at: a package, or a checkpoint.
#ifndef HEXLANE_COMPILER_SOURCE_H_
#define HEXLANE_COMPILER_SOURCE_H_

#include <filesystem>
#include <memory>

#include "backends/emitter.h"
#include "formats/tokenizer_files.h"
#include "hexlane/compiler.h"
#include "models/decoder.h"
#include "package/package.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {

bool IsPackage(const std::filesystem::path& path);  // has a manifest.json

Result<std::shared_ptr<const Package>> OpenPackage(const std::filesystem::path& path);
Result<std::shared_ptr<const Decoder>> OpenCheckpoint(const std::filesystem::path& path);

// The package's quantised units, each read and verified when asked for.
UnitSource UnitsOf(std::shared_ptr<const Package> package);
// The checkpoint's own, in float.
UnitSource UnitsOf(std::shared_ptr<const Decoder> decoder);

// Every file below a folder that was just written, by name.
std::vector<PackageFile> FilesOf(const std::filesystem::path& folder);

// Path of a unit's graph in a package.
std::string UnitFile(int unit);

// tokenizer.json and tokenizer_config.json of a package, a checkpoint, or beside a tokenizer.json.
Result<TokenizerFiles> ReadTokenizerFiles(const std::filesystem::path& path);

// The tokenizer of these files; its errors say that they are of `where`.
Result<std::unique_ptr<Tokenizer>> MakeTokenizer(const TokenizerFiles& files,
                                                 const std::filesystem::path& where);
// Both in one.
Result<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::filesystem::path& path);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_SOURCE_H_
