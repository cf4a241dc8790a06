#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "c_api/handles.h"
#include "c_api/structs.h"

namespace hexlane::c_api {
namespace {

Result<EngineOptions> ToOptions(const hexlane_engine_options* given) {
  const hexlane_engine_options options = TRY(Read(given, "hexlane_engine_options"));
  EngineOptions made{.soc = Text(options.soc),
                     .threads = options.threads,
                     .check_files = !options.skip_file_check,
                     .vendor_library = Text(options.vendor_library),
                     .skel_dir = Text(options.skel_dir),
                     .cache_dir = Text(options.cache_dir),
                     .context = options.context,
                     .memory_limit = static_cast<size_t>(options.memory_limit)};
  if (options.backend != nullptr) made.backend = options.backend;
  if (options.on_progress != nullptr)
    made.on_progress = [call = options.on_progress, user = options.user](const LoadProgress& at) {
      return call(static_cast<int32_t>(at.phase), at.done, at.total, user);
    };
  return made;
}

hexlane_engine* Wrap(std::shared_ptr<Engine> opened) {
  std::string backends = fmt::format("{}", fmt::join(opened->info().backends, ","));
  return new hexlane_engine{std::move(opened), std::move(backends)};
}

// Memory for the caller, with a zero behind.
template <typename T>
T* Copy(std::span<const T> from) {
  void* memory = std::malloc(from.size_bytes() + sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  if (!from.empty()) std::memcpy(memory, from.data(), from.size_bytes());
  std::memset(static_cast<char*>(memory) + from.size_bytes(), 0, sizeof(T));
  return static_cast<T*>(memory);
}

void Give(const std::string& made, char** text, size_t* size) {
  *text = Copy(std::span<const char>(made));
  *size = made.size();
}

Result<std::string_view> View(const char* text, size_t size) {
  if (text == nullptr && size != 0) return MissingArgument("text");
  return std::string_view(text, size);
}

}  // namespace
}  // namespace hexlane::c_api

using namespace hexlane;         // NOLINT: the definitions of C functions
using namespace hexlane::c_api;  // NOLINT

extern "C" {

hexlane_code hexlane_engine_open(const char* package, const hexlane_engine_options* options,
                                 hexlane_engine** engine, hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(package);
    HEXLANE_NEED(engine);
    *engine = Wrap(TRY(Engine::Open(package, TRY(ToOptions(options)))));
    return {};
  });
}

void hexlane_engine_free(hexlane_engine* engine) { delete engine; }

hexlane_code hexlane_load_start(const char* package, const hexlane_engine_options* options,
                                hexlane_load** load, hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(package);
    HEXLANE_NEED(load);
    *load = new hexlane_load{TRY(EngineLoad::Start(package, TRY(ToOptions(options))))};
    return {};
  });
}

void hexlane_load_cancel(hexlane_load* load) {
  if (load != nullptr) load->load->Cancel();
}

bool hexlane_load_done(const hexlane_load* load) { return load == nullptr || load->load->done(); }

hexlane_code hexlane_load_finish(hexlane_load* load, hexlane_engine** engine,
                                 hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(load);
    HEXLANE_NEED(engine);
    *engine = Wrap(TRY(load->load->Wait()));
    return {};
  });
}

void hexlane_load_free(hexlane_load* load) { delete load; }

hexlane_code hexlane_engine_warm_up(const hexlane_engine* engine, hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(engine);
    return engine->engine->WarmUp();
  });
}

void hexlane_engine_trim(const hexlane_engine* engine, int32_t level) {
  if (engine == nullptr) return;
  engine->engine->Trim(level == HEXLANE_TRIM_PAGES ? TrimLevel::kPages : TrimLevel::kAll);
}

void hexlane_engine_info(const hexlane_engine* engine, hexlane_info* info) {
  if (engine == nullptr) return;
  const EngineInfo& known = engine->engine->info();
  Write({.source = known.source.c_str(),
         .architecture = known.architecture.c_str(),
         .scheme = known.scheme.c_str(),
         .variant = known.variant.c_str(),
         .soc = known.soc.c_str(),
         .backends = engine->backends.c_str(),
         .fallback_reason = known.fallback_reason.c_str(),
         .layers = known.layers,
         .vocab = known.vocab,
         .context = known.context,
         .max_context = known.max_context,
         .threads = known.threads,
         .load = known.load.total},
        info);
}

hexlane_code hexlane_encode(const hexlane_engine* engine, const char* text, size_t size,
                            bool add_special_tokens, bool parse_special, int32_t** ids,
                            size_t* count, hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(engine);
    HEXLANE_NEED(ids);
    HEXLANE_NEED(count);
    const std::vector<int32_t> made =
        TRY(engine->engine->Encode(TRY(View(text, size)), {.add_special_tokens = add_special_tokens,
                                                           .parse_special = parse_special}));
    *ids = Copy(std::span<const int32_t>(made));
    *count = made.size();
    return {};
  });
}

hexlane_code hexlane_decode(const hexlane_engine* engine, const int32_t* ids, size_t count,
                            bool skip_special, char** text, size_t* size, hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(engine);
    HEXLANE_NEED(text);
    HEXLANE_NEED(size);
    if (count != 0) HEXLANE_NEED(ids);
    Give(TRY(engine->engine->Decode(std::span(ids, count), skip_special)), text, size);
    return {};
  });
}

hexlane_code hexlane_render_chat(const hexlane_engine* engine, const char* messages,
                                 size_t messages_size, char** text, size_t* size,
                                 hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(engine);
    HEXLANE_NEED(text);
    HEXLANE_NEED(size);
    Give(TRY(engine->engine->RenderChat(TRY(View(messages, messages_size)))), text, size);
    return {};
  });
}

}  // extern "C"
