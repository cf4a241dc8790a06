// The smallest emitter: takes every node and writes a file that says so.
#include "backends/emitters.h"
#include "base/file.h"

namespace hexlane {
namespace {

class NullEmitter : public Emitter {
 public:
  std::optional<std::string> Refuses(const Graph&, const Node&, const Target*) const override {
    return std::nullopt;
  }

  UnitCost Cost(const Graph&, size_t) const override { return {}; }
  Result<EmitResult> Emit(const EmitArgs& args) const override {
    if (args.probe != nullptr) return Unsupported("the null backend has nothing to probe");
    EmitResult result{.files = {args.stem + ".null"}};
    const auto path = args.directory / result.files[0];
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    TRY(WriteFileAtomically(path, fmt::format("{} units\n", args.unit_count)));
    return result;
  }
};

}  // namespace

std::unique_ptr<Emitter> NewNullEmitter() { return std::make_unique<NullEmitter>(); }

}  // namespace hexlane
