#include <algorithm>
#include <cmath>

#include "compiler/npy.h"
#include "compiler/stage_run.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kIdsFile = "ids.npy";

Result<std::vector<int32_t>> IdsOf(const DumpOptions& options) {
  if (!options.ids.empty()) return options.ids;
  const auto tokenizer = TRY(OpenTokenizer(options.source.path));
  std::vector<int32_t> ids = tokenizer->Encode(options.text);
  if (ids.empty()) return Usage("nothing to run").Remedy("Give --ids 1,2,3 or -p TEXT");
  return ids;
}

// What an earlier dump wrote: ids.npy and the units' outputs.
Result<std::vector<std::string>> ListEarlier(const fs::path& folder) {
  if (!fs::exists(folder / kIdsFile)) return NotFound("'{}' is not a dump", folder.string());
  std::vector<std::string> names = {std::string(kIdsFile), "embed.out.npy", "logits.npy"};
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("layers.") && name.ends_with(".out.npy")) names.push_back(name);
  }
  return names;
}

// A model that computes no numbers is broken; the values say nothing else.
Result<void> CheckFinite(const UnitValues& values, int unit_count) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  for (size_t unit = 0; unit < values.size(); ++unit) {
    if (std::ranges::all_of(values[unit], is_finite)) continue;
    return InvalidInput("the model computes values that are not finite numbers")
        .At("{}", UnitValueName(static_cast<int>(unit), unit_count))
        .Remedy("Convert the checkpoint again; if that does not help, its weights are broken");
  }
  return {};
}

template <typename T>
TensorView ViewOf(const std::vector<T>& values, Shape shape, DType dtype) {
  return {std::as_bytes(std::span(values)), shape, dtype};
}

}  // namespace

Result<std::vector<std::string>> Dump(const DumpOptions& options) {
  const auto runner = TRY(StageRunner::Open(options.source));
  const std::vector<int32_t> ids = TRY(IdsOf(options));
  TRY(runner->CheckFits(ids));
  StagedDirectory staged = TRY(StagedDirectory::Create(
      options.output, {.earlier = ListEarlier, .inputs = {options.source.path}}));
  const UnitValues values = TRY(runner->Run(options.stage, ids));
  TRY(CheckFinite(values, runner->unit_count()));
  const auto rows = static_cast<int64_t>(ids.size());
  std::vector<std::string> files = {std::string(kIdsFile)};
  TRY(WriteNpy(staged.path() / files[0], ViewOf(ids, {rows}, DType::kI32)));
  for (size_t unit = 0; unit < values.size(); ++unit) {
    if (values[unit].empty()) continue;  // the backend does not show it
    files.push_back(UnitValueName(static_cast<int>(unit), runner->unit_count()) + ".npy");
    const auto width = static_cast<int64_t>(values[unit].size()) / rows;
    TRY(WriteNpy(staged.path() / files.back(), ViewOf(values[unit], {rows, width}, DType::kF32)));
  }
  TRY(staged.Commit());
  return files;
}

}  // namespace hexlane
