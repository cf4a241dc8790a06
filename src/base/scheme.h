// How the values of a weight matrix become bits. One row of schemes.def per scheme; `quant/`
// chooses and fits, `kernels/pack` lays the bits out, `kernels/matmul` multiplies. Activation
// values have an Encoding (encoding.h).
//
// A weight matrix is W [n, k]: n output channels (rows), k inputs (columns), y = x Wᵀ. For a block
// b of `block` consecutive columns (the whole row when block is 0):
//   kFloat    w = q · d[n,b]                    signed q, one float scale per block
//   kInteger  w = q · s[n,b] · c[n]             signed q, integer block scale 1..16, float channel
//   scale (LPBQ) kAffine   w = q · d[n,b] + m[n,b]           unsigned q, float scale and minimum
//   (GGUF Q4_1, Q4_0 with m = -8d)
#ifndef HEXLANE_BASE_SCHEME_H_
#define HEXLANE_BASE_SCHEME_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hexlane {

enum class ScaleKind : uint8_t { kNone, kFloat, kInteger, kAffine };

enum class Scheme : uint8_t {
  kPlain,  // not quantised: row-major elements of the tensor's DType
#define SCHEME(Name, text, bits, block, kind) k##Name,
#include "base/schemes.def"
#undef SCHEME
};

struct SchemeInfo {
  std::string_view name;
  int bits = 0;   // per q
  int block = 0;  // columns that share a scale; 0: the whole row
  ScaleKind scale = ScaleKind::kNone;
};

const SchemeInfo& Info(Scheme scheme);
std::optional<Scheme> SchemeFromName(std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_BASE_SCHEME_H_
