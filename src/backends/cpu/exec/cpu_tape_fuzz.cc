// A tape from anyone, over the weights of a tiny model: never a crash, neither in loading nor in
// running.
#include <numeric>

#include "backends/cpu/exec/state.h"
#include "backends/cpu/exec/tiny_model.h"
#include "base/thread_pool.h"

namespace hexlane {
namespace {

void RunTwoRows(const Program& program, ThreadPool& pool) {
  auto state = CpuState::Create(program, {.rows = 2, .context = 16}, pool);
  if (!state) return;
  const std::vector<int32_t> ids = {1, 2};  // every matrix of the model has so many rows
  std::vector<float> output(2 * static_cast<size_t>(program.buffers()[program.output()]));
  for (const bool last_row_only : {false, true}) {
    Frame& frame = (*state)->Begin(2, 3);
    frame.ids = ids;
    if (program.output_is_result_only()) frame.buffers[program.output()] = output.data();
    program.Run(frame, last_row_only, nullptr);
  }
}

}  // namespace
}  // namespace hexlane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hexlane;
  static const testing::TinyModel model(Scheme::kW4Affine32);
  static ThreadPool pool(1);
  const auto json = ParseJson({reinterpret_cast<const char*>(data), size}, "tape");
  if (!json) return 0;
  const auto tape = TapeFromJson(*json, "tape");
  if (!tape) return 0;
  CHECK(TapeFromJson(ToJson(*tape), "again").has_value());
  // Larger ones are refused by the state or by the machine.
  if (std::accumulate(tape->buffers.begin(), tape->buffers.end(), int64_t{0}) > 100'000) return 0;
  const auto program = Program::Load(*tape, [](std::string_view name) -> Result<Tensor> {
    const auto it = model.weights.find(name);
    if (it == model.weights.end()) return NotFound("no weight '{}'", name);
    return it->second;
  });
  if (program) RunTwoRows(*program, pool);
  return 0;
}
