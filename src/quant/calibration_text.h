// The text that activations are calibrated on unless the user names another: data/calibration.txt,
// built into the library, about 40,000 tokens in the public domain: the openings of Jane Austen's
// "Persuasion" and of Isaac Newton's "Opticks", chapters 32, 41 and 42 of Herman Melville's "Moby
// Dick", and Abraham Lincoln's message to Congress of 1863.
#ifndef HEXLANE_QUANT_CALIBRATION_TEXT_H_
#define HEXLANE_QUANT_CALIBRATION_TEXT_H_

#include <string_view>

namespace hexlane {

std::string_view DefaultCalibrationText();

}  // namespace hexlane

#endif  // HEXLANE_QUANT_CALIBRATION_TEXT_H_
