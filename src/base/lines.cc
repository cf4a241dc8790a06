#include "base/lines.h"

#include <algorithm>

namespace hexlane {

std::vector<TextLine> LinesOf(std::string_view text) {
  std::vector<TextLine> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r\v\f") != line.npos) lines.push_back({number, line});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace hexlane
