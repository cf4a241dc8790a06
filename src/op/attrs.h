// Attributes of ops. Each struct lists its fields once, in Visit; printer, parser and comparison
// follow from it. Attrs is a variant of all of them.
#ifndef HEXLANE_OP_ATTRS_H_
#define HEXLANE_OP_ATTRS_H_

#include <cstdint>
#include <variant>

namespace hexlane {

struct NoAttrs {
  template <typename V>
  void Visit(V&&) {}
  friend bool operator==(const NoAttrs&, const NoAttrs&) = default;
};

struct RmsNormAttrs {
  float eps = 1e-5f;
  template <typename V>
  void Visit(V&& visit) {
    visit("eps", eps);
  }
  friend bool operator==(const RmsNormAttrs&, const RmsNormAttrs&) = default;
};

struct RopeAttrs {
  int64_t head_dim = 0;
  float scale = 1;  // times cos and sin (YaRN's attention factor)
  template <typename V>
  void Visit(V&& visit) {
    visit("head_dim", head_dim);
    visit("scale", scale);
  }
  friend bool operator==(const RopeAttrs&, const RopeAttrs&) = default;
};

struct AttentionAttrs {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 1;     // of q kᵀ, usually 1/sqrt(head_dim)
  int64_t window = 0;  // query i sees keys i-window+1 … i; 0: all before it
  float softcap = 0;   // scores become softcap · tanh(scores / softcap); 0: off
  template <typename V>
  void Visit(V&& visit) {
    visit("heads", heads);
    visit("kv_heads", kv_heads);
    visit("head_dim", head_dim);
    visit("scale", scale);
    visit("window", window);
    visit("softcap", softcap);
  }
  friend bool operator==(const AttentionAttrs&, const AttentionAttrs&) = default;
};

using Attrs = std::variant<NoAttrs, RmsNormAttrs, RopeAttrs, AttentionAttrs>;

}  // namespace hexlane

#endif  // HEXLANE_OP_ATTRS_H_
