// What quantising a unit did to each value and weight.
#ifndef HEXLANE_QUANT_REPORT_H_
#define HEXLANE_QUANT_REPORT_H_

#include <map>
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
    double mean_abs = 0;
    int64_t count = 0;           // elements
    double clipped = 0;          // share of them that the encoding cannot hold
    bool constant = false;       // one and the same number everywhere: suspicious
    bool same_rows = false;      // one and the same row for every token: suspicious too
    bool extremes_only = false;  // of attention scores only the least and greatest were seen
  };
  std::optional<Seen> seen;
  std::string rule;  // of an overrides file, that it follows; empty: none
};

struct WeightReport {
  std::string name;
  Shape shape;
  Scheme scheme = Scheme::kPlain;
  double bits = 0;               // stored per weight, scales and padding included
  bool kept = false;             // the checkpoint's own blocks
  std::optional<double> snr_db;  // of the checkpoint's values over the rounding error; none: exact
  std::string rule;              // as of a value
};

// What training a unit did: FinetuneUnit. Errors are of the held-out windows.
struct FinetuneReport {
  double error_before = 0;  // of the output, relative to the float model's, squared
  double error_after = 0;   // of what was kept
  int epochs = 0;           // after which it was best; 0: nothing better was found
};

struct UnitReport {
  std::string unit;
  std::vector<ValueReport> values;
  std::vector<WeightReport> weights;
  std::optional<FinetuneReport> finetune = {};

  // Share of the values' elements in calibration that their encodings cannot hold.
  double clipped() const;
};

// {"unit", "clipped", "values": [{"name", "dtype", "scale", "offset", "min", "max", "mean_abs",
//  "clipped", "constant", "same_rows", "extremes_only", "rule"}],
//  "weights": [{"name", "shape", "scheme", "bits", "kept", "snr_db", "rule"}],
//  "finetune": {"error_before", "error_after", "epochs"}}; what is absent is left out.
nlohmann::json ToJson(const UnitReport& report);

// Of a package's report.json ({"units": [ToJson(UnitReport)]}), what calibration saw of each value:
// min, max and extremes_only. Empty where it did not calibrate.
using SeenByName = std::map<std::string, ValueReport::Seen, std::less<>>;
SeenByName SeenInCalibration(const nlohmann::json& report);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_REPORT_H_
