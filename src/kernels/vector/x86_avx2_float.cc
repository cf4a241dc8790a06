// The float kernels for AVX2.
#include "kernels/attention/cached_body.h"
#include "kernels/elementwise/gated_body.h"
#include "kernels/matmul/plain_body.h"
#include "kernels/matmul/quantize_body.h"
#include "kernels/norm/rms_norm_body.h"
#include "kernels/quantize/block_scale_body.h"
#include "kernels/registry.h"
#include "kernels/rope/rotate_body.h"

#define HEXLANE_SUFFIX(name) name##Avx2
#include "kernels/vector/define_kernels.inc"
