#include "compiler/source.h"

#include <algorithm>

#include "ir/text.h"
#include "op/dims.h"

namespace hexlane {
namespace fs = std::filesystem;

bool IsPackage(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / "manifest.json", ignored);
}

Result<std::shared_ptr<const Package>> OpenPackage(const fs::path& path) {
  if (!IsPackage(path)) {
    return NotFound("'{}' is not a Hexlane package", path.string())
        .Want("a folder with a manifest.json")
        .Remedy("Make one with: hexlane convert MODEL -o {}", path.string());
  }
  return Package::Open(path, {});
}

Result<std::shared_ptr<const Decoder>> OpenCheckpoint(const fs::path& path) {
  return Decoder::Open(std::shared_ptr<const Checkpoint>(TRY(Checkpoint::Open(path))));
}

std::vector<PackageFile> FilesOf(const fs::path& folder) {
  std::vector<PackageFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      files.push_back({entry.path().lexically_relative(folder).string(), entry.file_size()});
  }
  std::ranges::sort(files, {}, &PackageFile::path);
  return files;
}

std::string UnitFile(int unit) { return fmt::format("units/{}.hxir", unit); }

namespace {

// That a unit read from a file gives what the units after it take.
Result<void> CheckUnit(const Graph& graph, int unit, const ModelShape& model,
                       const std::string& where) {
  const int64_t width = unit == model.layers + 1 ? model.vocab : model.hidden;
  const Shape want = {kRows, width};
  if (graph.outputs().empty())
    return Corrupt("the unit has no output").At("{}", where).Want("{}", want);
  const Value& output = graph.value(graph.outputs()[0]);
  if (output.shape == want && output.dtype == DType::kF32) return {};
  return Corrupt("the unit's first output '{}' does not fit the model", output.name)
      .At("{}", where)
      .Want("{}", want)
      .Got("{}", output.shape);
}

}  // namespace

UnitSource UnitsOf(std::shared_ptr<const Package> package) {
  const int count = package->plan().model.layers + 2;
  const auto load = [package = std::move(package)](int unit) -> Result<Graph> {
    if (!package->Has(UnitFile(unit))) {
      return InvalidInput(
                 "the package was split for delivery: it has no graphs to compile or verify")
          .At("{}", package->directory().string())
          .Remedy("Use the package that it was split from");
    }
    const std::string text = TRY(package->ReadText(UnitFile(unit)));
    const std::string where = (package->directory() / UnitFile(unit)).string();
    Graph graph =
        TRY(Parse(text, where, [&](std::string_view name) { return package->Weight(name); }));
    TRY(Verify(graph, GraphStage::kQuantised));
    TRY(CheckUnit(graph, unit, package->plan().model, where));
    return graph;
  };
  return {count, load, {}};
}

UnitSource UnitsOf(std::shared_ptr<const Decoder> decoder) {
  const int count = decoder->unit_count();
  return {count, [decoder = std::move(decoder)](int unit) { return decoder->Build(unit); }, {}};
}

Result<TokenizerFiles> ReadTokenizerFiles(const fs::path& path) {
  const auto optional_text = [](const fs::path& file) -> Result<std::string> {
    if (!fs::exists(file)) return "";
    std::string text = TRY(ReadTextFile(file));
    if (text.empty()) return Corrupt("'{}' is empty", file.string()).Remedy("Download it again");
    return text;
  };
  const bool is_package = IsPackage(path);
  if (is_package && !fs::exists(path / "tokenizer.json")) {
    return NotFound("the package has no tokenizer")
        .At("{}", path.string())
        .Remedy(
            "Convert a checkpoint that has a tokenizer.json, or use token ids: hexlane dump --ids");
  }
  if (is_package || path.extension() == ".json") {
    const fs::path folder = is_package ? path : path.parent_path();
    return TokenizerFiles{TRY(ReadTextFile(is_package ? path / "tokenizer.json" : path)),
                          TRY(optional_text(folder / "tokenizer_config.json"))};
  }
  const std::unique_ptr<Checkpoint> checkpoint = TRY(Checkpoint::Open(path));
  return checkpoint->tokenizer_files();
}

Result<std::unique_ptr<Tokenizer>> MakeTokenizer(const TokenizerFiles& files,
                                                 const fs::path& where) {
  auto tokenizer = Tokenizer::FromJson(files.tokenizer_json, files.tokenizer_config_json);
  if (tokenizer) return tokenizer;
  Error error = std::move(tokenizer).error();
  error.where = fmt::format("{}: {}", where.string(), error.where);
  return Failure(std::move(error));
}

Result<std::unique_ptr<Tokenizer>> OpenTokenizer(const fs::path& path) {
  return MakeTokenizer(TRY(ReadTokenizerFiles(path)), path);
}

}  // namespace hexlane
