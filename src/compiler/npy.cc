#include "compiler/npy.h"

#include "base/file.h"

namespace hexlane {

Result<void> WriteNpy(const std::filesystem::path& path, const TensorView& tensor) {
  CHECK(tensor.scheme == Scheme::kPlain);
  CHECK(tensor.dtype == DType::kF32 || tensor.dtype == DType::kI32);
  std::string shape;
  for (const int64_t dim : tensor.shape.dims()) shape += fmt::format("{}, ", dim);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   tensor.dtype == DType::kF32 ? "<f4" : "<i4", shape);
  constexpr size_t kPrefix = 10, kAlignment = 64;  // magic, version, u16 length
  while ((kPrefix + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return WriteFileAtomically(path, text);
}

}  // namespace hexlane
