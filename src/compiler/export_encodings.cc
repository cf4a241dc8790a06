#include <set>

#include "base/file.h"
#include "compiler/source.h"
#include "hexlane/compiler.h"
#include "op/dims.h"
#include "quant/aimet.h"

namespace hexlane {
namespace {

// Of each name once: units share hidden states, and a tied head its table.
class EncodingList {
 public:
  void Add(const Graph& unit) {
    for (const Value& value : unit.values()) {
      if (!names_.insert(value.name).second) continue;
      if (value.constant && value.shape.rank() == 2)
        weights_.push_back(AimetWeight(value.name, value.constant->view()));
      else if (value.encoding && !IsPast(value.shape))  // a cache is as what is appended to it
        values_.push_back(AimetValue(value.name, *value.encoding));
    }
  }

  Json Finish() && {
    return {{"version", "1.0.0"},
            {"activation_encodings", std::move(values_)},
            {"param_encodings", std::move(weights_)}};
  }

 private:
  std::set<std::string> names_;
  Json weights_ = Json::array(), values_ = Json::array();
};

}  // namespace

Result<void> ExportEncodings(const std::filesystem::path& package,
                             const std::filesystem::path& output) {
  TRY(CheckJsonOutput(output, {"activation_encodings", "param_encodings"}));
  const UnitSource units = UnitsOf(TRY(OpenPackage(package)));
  EncodingList list;
  for (int unit = 0; unit < units.count; ++unit) list.Add(TRY(units.load(unit)));
  return WriteFileAtomically(output, std::move(list).Finish().dump(1) + "\n");
}

}  // namespace hexlane
