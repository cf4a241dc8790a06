// Constants of the IR in the layouts that QNN ops want.
#ifndef HEXLANE_BACKENDS_QNN_EMIT_WEIGHTS_H_
#define HEXLANE_BACKENDS_QNN_EMIT_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "backends/qnn/driver/tensor.h"
#include "base/quantized_matrix.h"
#include "ir/graph.h"

namespace hexlane::qnn {

// A plain constant (f32, f16, bf16) as float32.
std::vector<float> ConstantFloats(const Value& value);

// A plain matrix [n, k] as f16 [k, n].
std::vector<uint16_t> TransposedF16(const Value& value);

// The whole quantised constant in plain arrays.
QuantizedMatrix UnpackConstant(const Value& value);

// w8-block32 as 8 bits with one scale per row: what the HTP has for 8-bit weights (about 42 dB).
QuantizedMatrix PerChannelInt8(const QuantizedMatrix& blocks);

// 4-bit (or smaller) blocks: w = d q + m with q 0…15 as d (q-8) + c with c = m + 8 d; symmetric
// ones as d q, of LPBQ with d = block scale · channel scale.
struct CentredBlocks {
  std::vector<int8_t> q;            // [n, k], -8…7
  std::vector<ScaleOffset> scales;  // [n, blocks]: d, 0
  std::vector<uint16_t> c;          // f16 [n, blocks]; empty when all are zero
};
CentredBlocks Centre(QuantizedMatrix matrix);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_EMIT_WEIGHTS_H_
