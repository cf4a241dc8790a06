// Generation on a thread of its own. The decoding thread appends to `pending` under a lock that is
// held for the copying of a few bytes; readers take all that is there.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "c_api/generate.h"
#include "c_api/structs.h"

namespace hexlane::c_api {
namespace {

constexpr size_t kTextBytesPerToken = 16;  // reserved

struct Pending {
  std::string text;
  std::vector<int32_t> ids;
  int prompt_done = 0;
  int prompt_total = 0;
  bool done = false;

  bool any() const { return done || !ids.empty() || !text.empty(); }
};

}  // namespace
}  // namespace hexlane::c_api

struct hexlane_stream {
  hexlane_session* session = nullptr;
  std::vector<int32_t> prompt;
  hexlane::GenerateOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  hexlane::c_api::Pending pending;                                  // guarded by mutex
  hexlane::c_api::Pending read;                                     // what the last event shows
  int seen_prompt = 0;                                              // prompt_done of the last event
  std::optional<hexlane::Result<hexlane::GenerateResult>> outcome;  // guarded, until done
  std::thread thread;

  bool News() const { return pending.any() || pending.prompt_done != seen_prompt; }
};

namespace hexlane::c_api {
namespace {

template <typename Change>
void Tell(hexlane_stream& stream, Change change) {
  {
    const std::lock_guard lock(stream.mutex);
    change();
  }
  stream.changed.notify_all();
}

void AddCallbacks(hexlane_stream& stream) {
  stream.options.on_token = [&stream](const TokenEvent& event) {
    Tell(stream, [&] {
      stream.pending.text += event.text;
      if (event.id >= 0) stream.pending.ids.push_back(event.id);
    });
    return !stream.session->cancelled;
  };
  stream.options.on_prefill = [&stream](int done, int total) {
    Tell(stream, [&] { stream.pending.prompt_done = done, stream.pending.prompt_total = total; });
    return !stream.session->cancelled;
  };
}

Result<GenerateResult> Generate(hexlane_stream& stream) {
  try {
    return stream.session->session->Generate(std::span<const int32_t>(stream.prompt),
                                             stream.options);
  } catch (const std::bad_alloc&) {
    return Environment("out of memory");
  }
}

void Decode(hexlane_stream& stream) {
  auto outcome = Generate(stream);
  Tell(stream, [&] { stream.outcome = std::move(outcome), stream.pending.done = true; });
}

// Text and ids go to the reader, whose buffers come back empty, so that neither side allocates.
void Take(hexlane_stream& stream) {
  stream.read.text.clear();
  stream.read.ids.clear();
  std::swap(stream.read.text, stream.pending.text);
  std::swap(stream.read.ids, stream.pending.ids);
  stream.read.prompt_done = stream.seen_prompt = stream.pending.prompt_done;
  stream.read.prompt_total = stream.pending.prompt_total;
  stream.read.done = stream.pending.done;
}

void Reserve(hexlane_stream& stream) {
  const auto room = static_cast<size_t>(stream.session->session->capacity());
  for (Pending* pending : {&stream.pending, &stream.read}) {
    pending->ids.reserve(room);
    pending->text.reserve(room * kTextBytesPerToken);
  }
}

void Wait(hexlane_stream& stream, std::unique_lock<std::mutex>& lock, int32_t timeout_ms) {
  const auto news = [&] { return stream.News(); };
  if (timeout_ms < 0) return stream.changed.wait(lock, news);
  stream.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), news);
}

}  // namespace
}  // namespace hexlane::c_api

using namespace hexlane;         // NOLINT: the definitions of C functions
using namespace hexlane::c_api;  // NOLINT

extern "C" {

hexlane_code hexlane_stream_start(hexlane_session* session, const int32_t* prompt, size_t count,
                                  const hexlane_generate_options* options, hexlane_stream** stream,
                                  hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(session);
    HEXLANE_NEED(stream);
    const hexlane_generate_options given = TRY(Read(options, "hexlane_generate_options"));
    if (given.on_token != nullptr || given.on_prefill != nullptr)
      return Usage("a stream has no callbacks").Remedy("Read it with hexlane_stream_next");
    const auto ids = TRY(Prompt(prompt, count));
    auto made = std::make_unique<hexlane_stream>();
    made->session = session;
    made->prompt.assign(ids.begin(), ids.end());
    made->options = TRY(ToOptions(given));
    AddCallbacks(*made);
    Reserve(*made);
    session->cancelled = false;
    made->thread = std::thread([&stream = *made] { Decode(stream); });
    *stream = made.release();
    return {};
  });
}

hexlane_code hexlane_stream_next(hexlane_stream* stream, int32_t timeout_ms, hexlane_event* event,
                                 hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(stream);
    HEXLANE_NEED(event);
    {
      std::unique_lock lock(stream->mutex);
      Wait(*stream, lock, timeout_ms);
      Take(*stream);
    }
    const Pending& read = stream->read;
    Write({.text = read.text.c_str(),
           .text_size = read.text.size(),
           .ids = read.ids.data(),
           .id_count = read.ids.size(),
           .prompt_done = read.prompt_done,
           .prompt_total = read.prompt_total,
           .done = read.done},
          event);
    return {};
  });
}

hexlane_code hexlane_stream_finish(hexlane_stream* stream, hexlane_result** result,
                                   hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(stream);
    if (!stream->thread.joinable()) return Usage("the stream has been finished");
    stream->thread.join();
    GenerateResult generated = TRY(std::move(*stream->outcome));
    if (result != nullptr) *result = new hexlane_result{std::move(generated)};
    return {};
  });
}

void hexlane_stream_free(hexlane_stream* stream) {
  if (stream == nullptr) return;
  if (stream->thread.joinable()) {
    stream->session->cancelled = true;
    stream->thread.join();
  }
  delete stream;
}

}  // extern "C"
