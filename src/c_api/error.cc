#include <cstdlib>

#include "c_api/handles.h"

using hexlane::Code;
using hexlane::Error;

namespace hexlane::c_api {
namespace {

// Given out when there is no memory for an error; never freed.
hexlane_error& NoMemory() {
  static hexlane_error error{.error = {.code = Code::kEnvironment, .what = "out of memory"},
                             .message = "out of memory"};
  return error;
}

}  // namespace

// Their order is the C API's: HEXLANE_OK comes before the first.
hexlane_code ToC(Code code) { return static_cast<hexlane_code>(code) + 1; }
static_assert(static_cast<int>(Code::kUsage) + 1 == HEXLANE_USAGE);
static_assert(static_cast<int>(Code::kInvalidInput) + 1 == HEXLANE_INVALID_INPUT);
static_assert(static_cast<int>(Code::kCorrupt) + 1 == HEXLANE_CORRUPT);
static_assert(static_cast<int>(Code::kUnsupported) + 1 == HEXLANE_UNSUPPORTED);
static_assert(static_cast<int>(Code::kNotFound) + 1 == HEXLANE_NOT_FOUND);
static_assert(static_cast<int>(Code::kIo) + 1 == HEXLANE_IO);
static_assert(static_cast<int>(Code::kEnvironment) + 1 == HEXLANE_ENVIRONMENT);
static_assert(static_cast<int>(Code::kVendor) + 1 == HEXLANE_VENDOR);
static_assert(static_cast<int>(Code::kCheckFailed) + 1 == HEXLANE_CHECK_FAILED);
static_assert(static_cast<int>(Code::kCancelled) + 1 == HEXLANE_CANCELLED);

hexlane_code Report(Error error, hexlane_error** out) {
  const hexlane_code code = ToC(error.code);
  if (out == nullptr) return code;
  std::string message = error.ToString();
  *out = new hexlane_error{std::move(error), std::move(message)};
  return code;
}

hexlane_code ReportNoMemory(hexlane_error** out) {
  if (out != nullptr) *out = &NoMemory();
  return HEXLANE_ENVIRONMENT;
}

}  // namespace hexlane::c_api

extern "C" {

const char* hexlane_version(void) { return HEXLANE_VERSION; }

int32_t hexlane_api_version(void) { return 100 * HEXLANE_API_MAJOR + HEXLANE_API_MINOR; }

const char* hexlane_code_name(hexlane_code code) {
  if (code == HEXLANE_OK) return "ok";
  if (code < HEXLANE_OK || code > HEXLANE_CANCELLED) return "unknown";
  return hexlane::CodeName(static_cast<Code>(code - 1)).data();  // literals: zero-terminated
}

void hexlane_free(void* memory) { std::free(memory); }

hexlane_code hexlane_error_code(const hexlane_error* error) {
  return error == nullptr ? HEXLANE_OK : hexlane::c_api::ToC(error->error.code);
}

const char* hexlane_error_message(const hexlane_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

#define HEXLANE_ERROR_TEXT(field)                                 \
  const char* hexlane_error_##field(const hexlane_error* error) { \
    return error == nullptr ? "" : error->error.field.c_str();    \
  }
HEXLANE_ERROR_TEXT(what)
HEXLANE_ERROR_TEXT(where)
HEXLANE_ERROR_TEXT(want)
HEXLANE_ERROR_TEXT(got)
HEXLANE_ERROR_TEXT(remedy)

void hexlane_error_free(hexlane_error* error) {
  if (error != &hexlane::c_api::NoMemory()) delete error;
}

}  // extern "C"
