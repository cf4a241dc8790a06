// Every kernel by op, weight format and instruction set; kernels.inc has one row per kernel, from
// which declaration, dispatch, test and benchmark follow.
//
// Files named x86_*.cc and arm_*.cc are compiled for their instruction set alone: they must not
// instantiate inline functions that other files share (containers, fmt, …), or the linker might
// keep the wrong copy.
#ifndef HEXLANE_KERNELS_REGISTRY_H_
#define HEXLANE_KERNELS_REGISTRY_H_

#include <span>
#include <string_view>

#include "base/scheme.h"
#include "kernels/cpu.h"
#include "kernels/matmul/quantized.h"

namespace hexlane {

enum class KernelOp : uint8_t { kMatMul, kQuantizeRows };

template <KernelOp op>
struct KernelSignature;
template <>
struct KernelSignature<KernelOp::kMatMul> {
  using Fn = MatMulFn;
};
template <>
struct KernelSignature<KernelOp::kQuantizeRows> {
  using Fn = QuantizeRowsFn;
};
template <KernelOp op>
using KernelFn = typename KernelSignature<op>::Fn;

// Declarations. A row's op names its signature.
#define KERNEL(name, cpu, op, format) KernelFn<KernelOp::k##op> name;
#include "kernels/kernels.inc"
#undef KERNEL

struct Kernel {
  std::string_view name;
  Cpu cpu;
  KernelOp op;
  Scheme format;  // of the weights; kPlain where there are none
  void (*fn)();   // really KernelFn<op>*

  template <KernelOp kOp>
  KernelFn<kOp>* As() const {
    return reinterpret_cast<KernelFn<kOp>*>(fn);
  }
};

std::span<const Kernel> AllKernels();  // of this architecture, best first

// The best kernel that this processor can run. Every op and format has a plain one.
const Kernel& BestKernel(KernelOp op, Scheme format);
template <KernelOp op>
KernelFn<op>* Best(Scheme format = Scheme::kPlain) {
  return BestKernel(op, format).template As<op>();
}

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_REGISTRY_H_
