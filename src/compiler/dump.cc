#include "compiler/npy.h"
#include "compiler/stage_run.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

Result<std::vector<int32_t>> IdsOf(const DumpOptions& options) {
  if (!options.ids.empty()) return options.ids;
  const auto tokenizer = TRY(OpenTokenizer(options.source.path));
  std::vector<int32_t> ids = tokenizer->Encode(options.text);
  if (ids.empty()) return Usage("nothing to run").Remedy("Give --ids 1,2,3 or -p TEXT");
  return ids;
}

template <typename T>
TensorView ViewOf(const std::vector<T>& values, Shape shape, DType dtype) {
  return {std::as_bytes(std::span(values)), shape, dtype};
}

}  // namespace

Result<std::vector<std::string>> Dump(const DumpOptions& options) {
  const auto runner = TRY(StageRunner::Open(options.source));
  const std::vector<int32_t> ids = TRY(IdsOf(options));
  const UnitValues values = TRY(runner->Run(options.stage, ids));
  StagedDirectory staged = TRY(StagedDirectory::Create(options.output, {.marker = "ids.npy"}));
  const auto rows = static_cast<int64_t>(ids.size());
  std::vector<std::string> files = {"ids.npy"};
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
