// Exceptions from a scheme, by a file: matrices with weights of another form, values with another
// representation or a fixed range. The file has rules of patterns; settling them on a model gives
// what holds for each tensor.
#ifndef HEXLANE_QUANT_OVERRIDES_H_
#define HEXLANE_QUANT_OVERRIDES_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/scheme.h"
#include "hexlane/status.h"
#include "ir/graph.h"
#include "quant/encodings.h"

namespace hexlane {

// What rules say of a tensor; of what is absent the scheme decides.
struct TensorOverride {
  std::optional<Scheme> weights;     // of a matrix; kPlain: float16
  std::optional<bool> algorithm;     // of a matrix: false rounds it to nearest
  std::optional<DType> activations;  // of a value: kF16, kU16 or kU8
  std::optional<MinMax> range;       // of a value, instead of the calibrated one
  std::string rule;                  // the last one that applies: "mix.json: rules[2]"

  bool for_matrices() const { return weights || algorithm; }
  bool for_values() const { return activations || range; }
  // Takes over what `other` says.
  void Add(const TensorOverride& other);
};

// Scales that a file of another tool has for a matrix. Ours are fitted anew; a number of them that
// is none of the matrix tells that the file is of another model.
struct MatrixScales {
  int64_t count = 1;
  int64_t block = 0;       // columns of a block; 0: no blocks
  bool per_block = false;  // a scale for each block of each row; otherwise one, or one for each row
};

struct OverrideRule {
  std::string pattern;  // '*' stands for any characters, '?' for one
  TensorOverride gives;
  // Whether it may be about weights that are no matrices, which have no other form: files of other
  // tools list all weights.
  bool allows_vectors = false;
  std::optional<MatrixScales> scales = std::nullopt;
};

struct OverrideFile {
  std::string where;   // its path
  std::string scheme;  // a name of quant_schemes.def, or empty
  std::vector<OverrideRule> rules;
};

// Text of one of these forms (docs/quant.md, Overrides):
//   {"quant": "w4a16", "rules": [{"pattern", "weights", "algorithm", "activations", "min", "max"}]}
//   {"weight_width": 4, "activation_width": 16}
//   encodings as AIMET writes them, version 0.6.1 or 1.0.0: quant/aimet.h
// kCorrupt and kInvalidInput name rule and field, and a file that is of two forms.
Result<OverrideFile> ParseOverrides(std::string_view text, std::string_view where);

bool MatchesPattern(std::string_view pattern, std::string_view name);

// What a model has that rules can name: each tensor with all the names that it goes by.
struct OverridableTensors {
  using Names = std::map<std::string, std::set<std::string>, std::less<>>;
  Names matrices;  // by the weight's name: layers.0.v_proj.weight, also layers.0.v_proj
  Names values;    // layers.0.v, also layers.0.v_proj
  std::map<std::string, Shape, std::less<>> shapes;  // of matrices
  std::set<std::string> vectors;

  // Those of a unit as built. Where `splits_head`, the head's matrix is its own though the unit has
  // the embedding table there (see RotateUnit).
  void AddUnit(const Graph& unit, bool splits_head);
};

class Overrides {
 public:
  // kInvalidInput where a rule applies to nothing, with names that are like its pattern, or where
  // the scales that it counts are not those of a matrix of that shape.
  static Result<Overrides> Settle(const OverrideFile& file, const OverridableTensors& tensors);

  // null: none
  const TensorOverride* OfMatrix(std::string_view weight) const { return Find(matrices_, weight); }
  const TensorOverride* OfValue(std::string_view name) const { return Find(values_, name); }

  bool empty() const { return matrices_.empty() && values_.empty(); }
  // Whether a value becomes integers by a range that only calibration knows.
  bool needs_calibration() const;

  // A matrix in another form yet.
  void SetWeights(const std::string& weight, Scheme scheme) { matrices_[weight].weights = scheme; }
  void SetActivations(const std::string& name, DType dtype) { values_[name].activations = dtype; }

 private:
  using ByName = std::map<std::string, TensorOverride, std::less<>>;
  static const TensorOverride* Find(const ByName& all, std::string_view name);
  friend nlohmann::json ToJson(const Overrides& overrides);

  ByName matrices_, values_;
};

// {"matrices": {name: …}, "values": {name: …}} with the fields of rules: the same for rules that
// come to the same.
nlohmann::json ToJson(const Overrides& overrides);

// The spelling of representations in rules: "f16" for plain weights.
std::string_view WeightsName(Scheme scheme);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_OVERRIDES_H_
