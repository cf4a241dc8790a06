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
#include "kernels/attention/cached.h"
#include "kernels/cpu.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/plain.h"
#include "kernels/matmul/quantized.h"
#include "kernels/norm/norm.h"
#include "kernels/quantize/block_scale.h"
#include "kernels/rope/rotate.h"

namespace hexlane {

// OP(name): the signature is <name>Fn.
#define HEXLANE_KERNEL_OPS(OP) \
  OP(MatMul)                   \
  OP(PlainMatMul)              \
  OP(QuantizeRows)             \
  OP(RmsNorm)                  \
  OP(SiluMul)                  \
  OP(Rotate)                   \
  OP(StoreKv)                  \
  OP(Attend)                   \
  OP(BlockScales)

enum class KernelOp : uint8_t {
#define OP(Name) k##Name,
  HEXLANE_KERNEL_OPS(OP)
#undef OP
};

template <KernelOp op>
struct KernelSignature;
#define OP(Name)                              \
  template <>                                 \
  struct KernelSignature<KernelOp::k##Name> { \
    using Fn = Name##Fn;                      \
  };
HEXLANE_KERNEL_OPS(OP)
#undef OP
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
