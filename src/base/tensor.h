// TensorView: bytes + shape + dtype + scheme, owning nothing. Tensor: a view plus whoever keeps its
// bytes alive (a heap buffer or a mapped file).
#ifndef HEXLANE_BASE_TENSOR_H_
#define HEXLANE_BASE_TENSOR_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/scheme.h"
#include "base/shape.h"

namespace hexlane {

struct TensorView {
  std::span<const std::byte> bytes;
  Shape shape;                     // logical: [n, k] for a quantised matrix, whatever its packing
  DType dtype = DType::kF32;       // element type when scheme is kPlain; otherwise unused
  Scheme scheme = Scheme::kPlain;  // layout of `bytes` when quantised: kernels/pack/pack.h

  // Elements as T. The view must be plain, of T's size, and aligned for T.
  template <typename T>
  std::span<const T> As() const {
    CHECK(scheme == Scheme::kPlain && sizeof(T) == DTypeBytes(dtype));
    CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % alignof(T) == 0);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(TensorView view, std::shared_ptr<const void> owner)
      : view_(view), owner_(std::move(owner)) {}

  // Takes over a vector of plain elements.
  template <typename T>
  static Tensor FromVector(std::vector<T> data, Shape shape, DType dtype) {
    CHECK(sizeof(T) == DTypeBytes(dtype));
    CHECK(static_cast<int64_t>(data.size()) == shape.elements());
    auto owner = std::make_shared<std::vector<T>>(std::move(data));
    return Tensor({std::as_bytes(std::span(*owner)), shape, dtype}, owner);
  }
  static Tensor FromFloats(std::vector<float> data, Shape shape) {
    return FromVector(std::move(data), shape, DType::kF32);
  }

  const TensorView& view() const { return view_; }
  const Shape& shape() const { return view_.shape; }
  std::span<const float> floats() const { return view_.As<float>(); }

 private:
  TensorView view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace hexlane

#endif  // HEXLANE_BASE_TENSOR_H_
