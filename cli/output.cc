#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hexlane::cli {
namespace {
int write_error = 0;  // errno of the first failed write to stdout
}

bool Write(std::string_view text) {
  if (write_error != 0) return false;
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written != text.size() || std::fflush(stdout) != 0) write_error = errno ? errno : EIO;
  return write_error == 0;
}

void WriteNote(std::string_view text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PrintJson(const Json& json) { Write(Dump(json) + "\n"); }

std::string Escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F in UTF-8
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text[i];
    }
  }
  return out;
}

void PrintWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) Show("warning: {}\n", Escaped(warning));
}

void PrintError(const Error& error, bool json) {
  if (json) {
    PrintJson({{"error",
                {{"code", CodeName(error.code)},
                 {"what", error.what},
                 {"where", error.where},
                 {"want", error.want},
                 {"got", error.got},
                 {"remedy", error.remedy}}}});
  }
  Note("hexlane: {}\n", Escaped(error.ToString()));
}

Result<void> FinishOutput() {
  if (write_error == 0) return {};
  return Io("cannot write to standard output: {}", std::strerror(write_error));
}

}  // namespace hexlane::cli
