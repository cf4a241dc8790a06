#include "compiler/head_inputs.h"

#include "hexlane/interrupt.h"
#include "interp/decoder_run.h"
#include "quant/matrix_scheme.h"

namespace hexlane {
namespace {

Result<bool> AreWanted(const Decoder& decoder, const QuantOptions& options) {
  if (options.lone_table || !(options.algorithm.search || options.algorithm.gptq)) return false;
  const Graph unit = TRY(decoder.Build(0));
  for (const Node& node : unit.nodes())
    if (HasMatrix(node)) return IsCoarse(MatrixScheme(unit, node, options));
  return false;
}

std::string_view InputOfLogits(const Graph& head) {
  for (const Node& node : head.nodes())
    if (IsLogits(head, node)) return head.value(node.inputs[0]).name;
  return "";
}

}  // namespace

Result<std::optional<Moments>> HeadInputs(const Decoder& decoder, const QuantOptions& options,
                                          const std::vector<std::vector<int32_t>>& windows,
                                          ThreadPool* pool, const Progress& progress) {
  if (!TRY(AreWanted(decoder, options))) return std::nullopt;
  DecoderRun run(windows);
  const int last = decoder.unit_count() - 1;
  for (int unit = 0; unit < last; ++unit) {
    TRY(CheckInterrupt());
    if (progress)
      progress(0, fmt::format("run the float model for its head: unit {}/{}", unit + 1, last));
    TRY(run.Advance(TRY(decoder.Build(unit)), {.pool = pool}));
    decoder.checkpoint().DropPages();
  }
  const Graph head = TRY(decoder.Build(last));
  const std::string_view multiplied = InputOfLogits(head);
  std::optional<Moments> moments(std::in_place);
  const Observer observer = [&](const Value& value, std::span<const float> values) {
    if (value.name != multiplied) return;
    const int64_t dim = value.shape.last();
    moments->Add({values.data(), std::ssize(values) / dim, dim}, pool);
  };
  const DecoderRun::Sink drop = [](size_t, std::vector<float>) { return Result<void>(); };
  TRY(run.Advance(head, {.pool = pool}, observer, drop));
  return moments;
}

}  // namespace hexlane
