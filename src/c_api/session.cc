#include <span>

#include "c_api/generate.h"

using namespace hexlane;         // NOLINT: the definitions of C functions
using namespace hexlane::c_api;  // NOLINT

extern "C" {

hexlane_code hexlane_session_new(const hexlane_engine* engine, hexlane_session** session,
                                 hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(engine);
    HEXLANE_NEED(session);
    auto made = TRY(engine->engine->NewSession());
    *session = new hexlane_session{std::move(made)};
    return {};
  });
}

void hexlane_session_free(hexlane_session* session) { delete session; }

int64_t hexlane_session_position(const hexlane_session* session) {
  return session == nullptr ? 0 : session->session->position();
}

int64_t hexlane_session_capacity(const hexlane_session* session) {
  return session == nullptr ? 0 : session->session->capacity();
}

hexlane_code hexlane_session_rewind(hexlane_session* session, int64_t position,
                                    hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(session);
    return session->session->Rewind(position);
  });
}

int64_t hexlane_session_keep_common_prefix(hexlane_session* session, const int32_t* ids,
                                           size_t count) {
  if (session == nullptr || (ids == nullptr && count != 0)) return 0;
  return session->session->KeepCommonPrefix(std::span(ids, count));
}

void hexlane_session_cancel(hexlane_session* session) {
  if (session != nullptr) session->cancelled = true;
}

}  // extern "C"
