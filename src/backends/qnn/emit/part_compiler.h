// Compiles one part: runs in the child process. Its result travels as bytes to the parent.
#ifndef HEXLANE_BACKENDS_QNN_EMIT_PART_COMPILER_H_
#define HEXLANE_BACKENDS_QNN_EMIT_PART_COMPILER_H_

#include "backends/emitter.h"
#include "backends/qnn/driver/child.h"
#include "backends/qnn/driver/context.h"
#include "backends/qnn/emit/lowering.h"

namespace hexlane::qnn {

class PartCompiler {
 public:
  PartCompiler(const EmitArgs& args, std::filesystem::path library, Child& child)
      : args_(args), library_path_(std::move(library)), child_(child) {}

  // Writes the binaries and the contract below args.directory; returns Pack'ed EmitResult and probe
  // outputs.
  Result<std::string> Run();

 private:
  Result<void> CompileStage(const std::shared_ptr<const Context>& context, size_t stage);
  Result<void> LowerUnits(Lowering& lowering, size_t stage);
  Result<void> WriteBinary(const Context& context, const std::string& file);
  void AddSpillFill(const std::filesystem::path& binary);
  Result<void> RunProbe(CompiledGraph& compiled, const GraphContract& graph);
  Result<Graph> LoadUnit(int unit) const { return args_.units.load(args_.first_unit + unit); }
  Result<float> DeepestMask() const;
  std::string FileOf(size_t stage) const;  // relative to args.directory

  const EmitArgs& args_;
  std::filesystem::path library_path_;
  Child& child_;
  Contract contract_;
  float mask_depth_ = 0;
  EmitResult result_;
  std::map<std::string, std::vector<float>> probed_;
};

// The parent's side of Run's bytes; probe outputs go into `probe` when given.
Result<EmitResult> UnpackCompiled(const std::string& payload, Probe* probe);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_EMIT_PART_COMPILER_H_
