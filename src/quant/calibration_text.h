// The text that activations are calibrated on unless the user names another: data/calibration.txt,
// the opening of Jane Austen's "Persuasion" (public domain), built into the library.
#ifndef HEXLANE_QUANT_CALIBRATION_TEXT_H_
#define HEXLANE_QUANT_CALIBRATION_TEXT_H_

#include <string_view>

namespace hexlane {

std::string_view DefaultCalibrationText();

}  // namespace hexlane

#endif  // HEXLANE_QUANT_CALIBRATION_TEXT_H_
