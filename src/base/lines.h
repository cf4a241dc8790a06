// The lines of a text file.
#ifndef HEXLANE_BASE_LINES_H_
#define HEXLANE_BASE_LINES_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace hexlane {

struct TextLine {
  size_t number;  // from 1, in the text
  std::string_view text;
};

// The lines that hold more than white space, without their ends ("\n" or "\r\n"); they point into
// `text`.
std::vector<TextLine> LinesOf(std::string_view text);

}  // namespace hexlane

#endif  // HEXLANE_BASE_LINES_H_
