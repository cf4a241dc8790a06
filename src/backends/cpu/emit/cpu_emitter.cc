// Turns units into a tape: one step per node, with SiLU and its product made one, residual
// additions done by the linear before them, and buffers reused as soon as their values are dead.
#include "backends/cpu/emit/tape_builder.h"
#include "backends/emitters.h"
#include "base/file.h"
#include "hexlane/interrupt.h"

namespace hexlane {
namespace {

class CpuEmitter : public Emitter {
 public:
  std::optional<std::string> Refuses(const Graph& unit, const Node& node,
                                     const Target*) const override {
    return TapeBuilder::Refuses(unit, node);
  }

  UnitCost Cost(const Graph&, size_t) const override { return {}; }

  Result<EmitResult> Emit(const EmitArgs& args) const override {
    if (args.probe != nullptr) return Unsupported("the CPU backend has nothing to probe");
    TapeBuilder builder;
    for (int i = 0; i < args.unit_count; ++i) {
      TRY(CheckInterrupt());
      const Graph unit = TRY(args.units.load(args.first_unit + i));
      TRY(builder.AddUnit(unit));
      if (args.progress) args.progress(double(i + 1) / args.unit_count, unit.name());
    }
    const Tape tape = TRY(std::move(builder).Finish());
    EmitResult result{.files = {args.stem + ".json"}};
    const auto path = args.directory / result.files[0];
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    TRY(WriteFileAtomically(path, ToJson(tape).dump()));
    return result;
  }
};

}  // namespace

std::unique_ptr<Emitter> NewCpuEmitter() { return std::make_unique<CpuEmitter>(); }

}  // namespace hexlane
