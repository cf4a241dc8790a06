// What evaluation text makes of the values of a quantised model: whether their encodings still fit.
#ifndef HEXLANE_QUANT_OBSERVE_RANGE_WATCH_H_
#define HEXLANE_QUANT_OBSERVE_RANGE_WATCH_H_

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quant/observe/row_watch.h"
#include "quant/report.h"

namespace hexlane {

class RangeWatch {
 public:
  // `calibrated`: SeenInCalibration of the package; what it does not hold is not compared.
  // `inputs_differ`: whether the tokens are not all the same.
  RangeWatch(SeenByName calibrated, bool inputs_differ)
      : calibrated_(std::move(calibrated)), inputs_differ_(inputs_differ) {}

  // An Observer (interpreter.h): the values before they are rounded to their encoding.
  void See(const Value& value, std::span<const float> values);

  // Sentences that name values, in the order in which those were first seen: ValueWarnings; NaN or
  // infinity; and values with integer encodings that leave what calibration saw by more than
  // kOvershoot of its extent. At most `most`, then how many more values there are.
  std::vector<std::string> Warnings(size_t most = 16) const;

  static constexpr double kOvershoot = 0.1;

 private:
  struct Watched {
    ValueReport report;
    double sum_abs = 0;
    int64_t clipped = 0;
    int64_t not_finite = 0;
    RowWatch rows;
  };
  Watched& Find(const Value& value);
  ValueReport ReportOf(const Watched& watched) const;
  std::vector<std::string> WarningsOf(const Watched& watched) const;

  SeenByName calibrated_;
  bool inputs_differ_;
  std::vector<Watched> watched_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace hexlane

#endif  // HEXLANE_QUANT_OBSERVE_RANGE_WATCH_H_
