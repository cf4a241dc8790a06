// What quantising a unit did to each value and weight.
#ifndef HEXLANE_QUANT_REPORT_H_
#define HEXLANE_QUANT_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/scheme.h"
#include "base/shape.h"

namespace hexlane {

struct ValueReport {
  std::string name;
  Encoding encoding;
  // What calibration saw; none without calibration.
  struct Seen {
    float min = 0;
    float max = 0;
    bool constant = false;  // one and the same number everywhere: suspicious
  };
  std::optional<Seen> seen;
};

struct WeightReport {
  std::string name;
  Shape shape;
  Scheme scheme = Scheme::kPlain;
  double bits = 0;               // stored per weight, scales and padding included
  bool kept = false;             // the checkpoint's own blocks
  std::optional<double> snr_db;  // of the checkpoint's values over the rounding error; none: exact
};

struct UnitReport {
  std::string unit;
  std::vector<ValueReport> values;
  std::vector<WeightReport> weights;
};

// {"unit", "values": [{"name", "dtype", "scale", "offset", "min", "max", "constant"}],
//  "weights": [{"name", "shape", "scheme", "bits", "kept", "snr_db"}]}; absent figures are left
//  out.
nlohmann::json ToJson(const UnitReport& report);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_REPORT_H_
