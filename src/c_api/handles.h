// The objects behind the handles of hexlane.h, and what its functions share.
#ifndef HEXLANE_C_API_HANDLES_H_
#define HEXLANE_C_API_HANDLES_H_

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#include "hexlane/engine_load.h"
#include "hexlane/hexlane.h"

struct hexlane_error {
  hexlane::Error error;
  std::string message;
};

struct hexlane_engine {
  std::shared_ptr<const hexlane::Engine> engine;
  std::string backends;  // comma-separated
};

struct hexlane_load {
  std::unique_ptr<hexlane::EngineLoad> load;
};

struct hexlane_session {
  std::unique_ptr<hexlane::Session> session;
  std::atomic<bool> cancelled = false;
};

struct hexlane_result {
  hexlane::GenerateResult result;
};

namespace hexlane::c_api {

hexlane_code ToC(Code code);

// The code of `error`, which also goes to *out where that is not null.
hexlane_code Report(Error error, hexlane_error** out);

// An error that memory may be too short to make.
hexlane_code ReportNoMemory(hexlane_error** out);

// Runs `body`, which gives a Result<void>; neither its error nor an exception gets past here.
template <typename Body>
hexlane_code Guarded(hexlane_error** out, Body body) {
  try {
    Result<void> done = body();
    return done ? HEXLANE_OK : Report(std::move(done).error(), out);
  } catch (const std::bad_alloc&) {
    return ReportNoMemory(out);
  } catch (const std::system_error& error) {  // no further thread
    return Report({.code = Code::kEnvironment, .what = error.what()}, out);
  }
}

inline Failure MissingArgument(const char* name) {
  return Usage("{} is NULL", name).Want("a pointer");
}
#define HEXLANE_NEED(argument)                                                      \
  do {                                                                              \
    if ((argument) == nullptr) return ::hexlane::c_api::MissingArgument(#argument); \
  } while (false)

// A caller's text, which may be null.
inline std::string Text(const char* text) { return text == nullptr ? "" : text; }

}  // namespace hexlane::c_api

#endif  // HEXLANE_C_API_HANDLES_H_
