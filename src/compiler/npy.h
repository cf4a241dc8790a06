// NumPy's .npy format, version 1.0: a dictionary in text, then the elements. numpy.lib.format
// documents it.
#ifndef HEXLANE_COMPILER_NPY_H_
#define HEXLANE_COMPILER_NPY_H_

#include <filesystem>

#include "base/tensor.h"

namespace hexlane {

// A plain tensor of f32 or i32, row-major, little-endian.
Result<void> WriteNpy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_NPY_H_
