#include "backends/qnn/driver/errors.h"

#include "backends/qnn/driver/log.h"

namespace hexlane::qnn {
namespace {

struct Row {
  abi::Status code;
  const char* name;
  const char* meaning;
  const char* remedy;
};

constexpr Row kRows[] = {
#define QNN_ERROR(code, name, meaning, remedy) {code, name, meaning, remedy},
#include "backends/qnn/driver/errors.def"
#undef QNN_ERROR
};

const Row* Find(abi::Status status) {
  for (const Row& row : kRows)
    if (row.code == (status & 0xffff)) return &row;
  return nullptr;
}

}  // namespace

std::string Describe(abi::Status status) {
  const Row* row = Find(status);
  if (!row) return fmt::format("{0} (0x{0:x}), an error code that Hexlane does not know", status);
  return fmt::format("{0} (0x{0:x}), {1}: {2}", status, row->name, row->meaning);
}

Failure VendorFailure(abi::Status status, std::string what) {
  const Row* row = Find(status);
  std::string got = Describe(status);
  if (const std::string lines = RecentLog().Lines(); !lines.empty())
    got += "; the library's log: " + lines;
  return Vendor("{}", what)
      .Got("{}", got)
      .Remedy("{}", row ? row->remedy : "Report this code with the log lines.");
}

}  // namespace hexlane::qnn
