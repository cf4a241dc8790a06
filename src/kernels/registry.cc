#include "kernels/registry.h"

#include "base/check.h"

namespace hexlane {

std::span<const Kernel> AllKernels() {
  static const Kernel kernels[] = {
#define KERNEL(name, cpu, op, format) \
  {#name, Cpu::cpu, KernelOp::k##op, Scheme::k##format, reinterpret_cast<void (*)()>(&name)},
#include "kernels/kernels.inc"
#undef KERNEL
  };
  return kernels;
}

const Kernel& BestKernel(KernelOp op, Scheme format) {
  for (const Kernel& kernel : AllKernels())
    if (kernel.op == op && kernel.format == format && Supports(kernel.cpu)) return kernel;
  CheckFailed(__FILE__, __LINE__, "every op and format has a plain kernel");
}

}  // namespace hexlane
