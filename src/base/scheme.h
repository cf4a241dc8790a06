// How the values of a weight matrix become bits. One row of schemes.def per scheme, from which all
// else follows; `quant/` chooses and fits, `kernels/pack` lays the bits out, `kernels/matmul`
// multiplies. Activation values have an Encoding (encoding.h).
//
// A weight matrix is W [n, k]: n output channels (rows), k inputs (columns), y = x Wᵀ. For a block
// b of `block` consecutive columns (the whole row when block is 0):
//   kFloat    w = q · d[n,b]            signed q, a scale per block (float16) or row (float32)
//   kInteger  w = q · s[n,b] · c[n]     signed q, block scale 1..16, float32 channel scale (LPBQ)
//   kAffine   w = q · d[n,b] + m[n,b]   unsigned q, float16 scale and minimum (GGUF Q4_1)
#ifndef HEXLANE_BASE_SCHEME_H_
#define HEXLANE_BASE_SCHEME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

inline constexpr SchemeInfo kSchemeRows[] = {
    {"plain"},
#define SCHEME(Name, text, bits, block, kind) {text, bits, block, ScaleKind::kind},
#include "base/schemes.def"
#undef SCHEME
};

constexpr const SchemeInfo& Info(Scheme scheme) { return kSchemeRows[static_cast<size_t>(scheme)]; }
// Every scheme but kPlain, in the order of the rows.
std::span<const Scheme> AllSchemes();
// `scheme`, or where its blocks do not divide `columns`, the one with the widest blocks that do, of
// the same bits and scale kind; `scheme` itself where there is none.
Scheme WithBlocksThatDivide(Scheme scheme, int64_t columns);
std::optional<Scheme> SchemeFromName(std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_BASE_SCHEME_H_
