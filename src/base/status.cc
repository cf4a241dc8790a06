#include "hexlane/status.h"

namespace hexlane {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kUsage: return "usage";
    case Code::kInvalidInput: return "invalid input";
    case Code::kCorrupt: return "corrupt";
    case Code::kUnsupported: return "unsupported";
    case Code::kNotFound: return "not found";
    case Code::kIo: return "i/o";
    case Code::kEnvironment: return "environment";
    case Code::kVendor: return "vendor library";
    case Code::kCheckFailed: return "check failed";
    case Code::kCancelled: return "cancelled";
  }
  return "unknown";
}

std::string Error::ToString() const {
  std::string text = what;
  if (!where.empty()) text += fmt::format(" (at {})", where);
  if (!want.empty() || !got.empty()) text += ":";
  if (!want.empty()) text += fmt::format(" want {}", want);
  if (!want.empty() && !got.empty()) text += ",";
  if (!got.empty()) text += fmt::format(" got {}", got);
  if (!remedy.empty()) text += fmt::format(". {}", remedy);
  return text;
}

}  // namespace hexlane
