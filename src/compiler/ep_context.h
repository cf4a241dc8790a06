// ONNX models of one EPContext node: how ONNX Runtime is told of a graph that a vendor's compiler
// has already made. The operator is of the domain com.microsoft;
// onnxruntime.ai/docs/execution-providers/ EP-Context-Design.html describes its attributes.
#ifndef HEXLANE_COMPILER_EP_CONTEXT_H_
#define HEXLANE_COMPILER_EP_CONTEXT_H_

#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace hexlane {

struct EpContextTensor {
  std::string name;  // as in the binary: ONNX Runtime's QNN provider binds tensors by name
  DType type = DType::kF32;
  Shape shape;
};

struct EpContextModel {
  std::string graph;        // its name in the binary
  std::string binary;       // the file, relative to the model's folder; must not leave it
  std::string sdk_version;  // of the compiler that made the binary
  std::string hardware;     // "SM8650"
  std::vector<EpContextTensor> inputs, outputs;
};

// The model as the bytes of an .onnx file. kUnsupported for an element type that ONNX has not.
Result<std::string> EpContextOnnx(const EpContextModel& model);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_EP_CONTEXT_H_
