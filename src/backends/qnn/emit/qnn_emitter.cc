// The QNN emitter: compiles a part in a child process, stage by stage.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "backends/emitters.h"
#include "backends/qnn/driver/child.h"
#include "backends/qnn/emit/ops.h"
#include "backends/qnn/emit/part_compiler.h"

namespace hexlane {
namespace {

using qnn::PartCompiler;

// What a binary holds of a weight: 3 bits as 4.
double BytesInBinary(const TensorView& weight) {
  const auto bytes = static_cast<double>(weight.bytes.size());
  return Info(weight.scheme).bits == 3 ? bytes * 4 / 3 : bytes;
}

class QnnEmitter : public Emitter {
 public:
  std::optional<std::string> Refuses(const Graph& unit, const Node& node,
                                     const Target* target) const override {
    const qnn::Rule* rule = qnn::FindRule(node.op);
    if (!rule) return fmt::format("{} has no HTP lowering", Def(node.op).name);
    if (!target) return "no SoC was chosen";
    return rule->refuses(unit, node, *target);
  }

  // The binary holds the weights and a few per cent of code and tables. Compiling holds, for every
  // stage, the library's copy of the weights at one byte each, what it makes of them, and the
  // unit's graph: 2.4 to 3.7 bytes a weight were seen, the most with small layers (docs/qnn.md).
  UnitCost Cost(const Graph& unit, size_t stage_count) const override {
    constexpr double kFileOverhead = 1.03, kBytesPerWeight = 3, kBytesPerGraph = 5e6;
    UnitCost cost;
    double elements = 0, bytes = 0;
    for (const Value& value : unit.values()) {
      if (!value.constant) continue;
      elements += static_cast<double>(value.shape.elements());
      bytes += BytesInBinary(value.constant->view());
    }
    cost.file_bytes = static_cast<size_t>(bytes * kFileOverhead);
    cost.memory_bytes = static_cast<size_t>((elements * kBytesPerWeight + kBytesPerGraph) *
                                            static_cast<double>(stage_count));
    return cost;
  }

  Result<EmitResult> Emit(const EmitArgs& args) const override {
    const auto start = std::chrono::steady_clock::now();
    const std::filesystem::path library = TRY(qnn::FindLibrary(args.vendor_library));
    qnn::ChildOptions options;
    options.task = fmt::format("compiling {} for {}", args.stem, args.target->name);
    options.progress = args.progress;
    options.memory_limit = args.memory_limit;
    const qnn::ChildResult done = TRY(qnn::RunInChild(
        [&](qnn::Child& child) { return PartCompiler(args, library, child).Run(); }, options));
    EmitResult result = TRY(qnn::UnpackCompiled(done.payload, args.probe));
    result.peak_rss_bytes = done.peak_rss_bytes;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }
};

}  // namespace

std::unique_ptr<Emitter> NewQnnEmitter() { return std::make_unique<QnnEmitter>(); }

}  // namespace hexlane
