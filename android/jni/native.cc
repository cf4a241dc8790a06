// The functions of dev.hexlane.Native, each over one of hexlane.h. Handles are Java longs; the
// Kotlin side sees to it that none is used after it was freed, or by two threads where hexlane.h
// says one.
#include <iterator>
#include <memory>

#include "jni/java.h"
#include "jni/listener.h"

namespace hexlane::jni {
namespace {

template <typename Handle>
Handle* As(jlong handle) {
  return reinterpret_cast<Handle*>(static_cast<intptr_t>(handle));
}

template <typename Handle>
jlong ToJava(Handle* handle) {
  return static_cast<jlong>(reinterpret_cast<intptr_t>(handle));
}

// Java's arrays are made of C's, which are freed.
jbyteArray Take(JNIEnv* env, char* text, size_t size) {
  jbyteArray made = Bytes(env, {text, size});
  hexlane_free(text);
  return made;
}

const char* OrNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

// A load in the background, and who is told of its progress.
struct Load {
  hexlane_load* load = nullptr;
  Listener listener;
};

jlong LoadStart(JNIEnv* env, jclass, jbyteArray package, jbyteArray backend, jbyteArray soc,
                jbyteArray vendor_library, jbyteArray skel_dir, jbyteArray cache_dir,
                jlong memory_limit, jint threads, jint context, jboolean skip_file_check,
                jobject progress) {
  const auto path = Text(env, package), backend_name = Text(env, backend),
             soc_name = Text(env, soc), library = Text(env, vendor_library),
             skels = Text(env, skel_dir), cache = Text(env, cache_dir);
  if (!path || !backend_name || !soc_name || !library || !skels || !cache) return 0;
  auto options = HEXLANE_INIT(hexlane_engine_options);
  options.backend = OrNull(*backend_name);
  options.soc = OrNull(*soc_name);
  options.vendor_library = OrNull(*library);
  options.memory_limit = static_cast<uint64_t>(memory_limit);
  options.threads = threads;
  options.context = context;
  options.skip_file_check = skip_file_check == JNI_TRUE;
  options.skel_dir = OrNull(*skels);
  options.cache_dir = OrNull(*cache);
  auto load = std::make_unique<Load>();
  if (!load->listener.Listen(env, progress)) return 0;
  options.on_progress = [](int32_t phase, uint64_t done, uint64_t total, void* user) {
    return static_cast<Load*>(user)->listener.OnLoad(phase, done, total);
  };
  options.user = load.get();
  hexlane_error* error = nullptr;
  if (hexlane_load_start(path->c_str(), &options, &load->load, &error) == HEXLANE_OK)
    return ToJava(load.release());
  Throw(env, error);
  return 0;
}

void LoadCancel(JNIEnv*, jclass, jlong load) { hexlane_load_cancel(As<Load>(load)->load); }

jlong LoadFinish(JNIEnv* env, jclass, jlong load) {
  hexlane_engine* engine = nullptr;
  hexlane_error* error = nullptr;
  if (hexlane_load_finish(As<Load>(load)->load, &engine, &error) != HEXLANE_OK) Throw(env, error);
  return ToJava(engine);
}

void LoadFree(JNIEnv*, jclass, jlong load) {
  const std::unique_ptr<Load> owned(As<Load>(load));
  hexlane_load_free(owned->load);
}

void EngineWarmUp(JNIEnv* env, jclass, jlong engine) {
  hexlane_error* error = nullptr;
  if (hexlane_engine_warm_up(As<hexlane_engine>(engine), &error) != HEXLANE_OK) Throw(env, error);
}

void EngineTrim(JNIEnv*, jclass, jlong engine, jint level) {
  hexlane_engine_trim(As<hexlane_engine>(engine), level);
}

void EngineFree(JNIEnv*, jclass, jlong engine) { hexlane_engine_free(As<hexlane_engine>(engine)); }

// source, architecture, scheme, variant, soc, backends, fallback reason.
jobjectArray EngineTexts(JNIEnv* env, jclass, jlong engine) {
  auto info = HEXLANE_INIT(hexlane_info);
  hexlane_engine_info(As<hexlane_engine>(engine), &info);
  const char* texts[] = {info.source, info.architecture, info.scheme,         info.variant,
                         info.soc,    info.backends,     info.fallback_reason};
  const Local<jclass> type(env, env->FindClass("[B"));
  if (type.get() == nullptr) return nullptr;
  jobjectArray made =
      env->NewObjectArray(static_cast<jsize>(std::size(texts)), type.get(), nullptr);
  for (jsize i = 0; made != nullptr && i < static_cast<jsize>(std::size(texts)); ++i) {
    const Local<jbyteArray> text(env, Bytes(env, texts[i]));
    if (text.get() == nullptr) return nullptr;
    env->SetObjectArrayElement(made, i, text.get());
  }
  return made;
}

// layers, vocabulary, context, trained context, threads, seconds of loading.
jdoubleArray EngineNumbers(JNIEnv* env, jclass, jlong engine) {
  auto info = HEXLANE_INIT(hexlane_info);
  hexlane_engine_info(As<hexlane_engine>(engine), &info);
  return DoubleArray(env, {static_cast<double>(info.layers), static_cast<double>(info.vocab),
                           static_cast<double>(info.context), static_cast<double>(info.max_context),
                           static_cast<double>(info.threads), info.load});
}

jintArray Encode(JNIEnv* env, jclass, jlong engine, jbyteArray bytes, jboolean add_special,
                 jboolean parse_special) {
  const auto text = Text(env, bytes);
  if (!text) return nullptr;
  int32_t* ids = nullptr;
  size_t count = 0;
  hexlane_error* error = nullptr;
  if (hexlane_encode(As<hexlane_engine>(engine), text->data(), text->size(),
                     add_special == JNI_TRUE, parse_special == JNI_TRUE, &ids, &count,
                     &error) != HEXLANE_OK) {
    Throw(env, error);
    return nullptr;
  }
  jintArray made = IntArray(env, ids, count);
  hexlane_free(ids);
  return made;
}

jbyteArray Decode(JNIEnv* env, jclass, jlong engine, jintArray array, jboolean skip_special) {
  const auto ids = Ints(env, array);
  if (!ids) return nullptr;
  char* text = nullptr;
  size_t size = 0;
  hexlane_error* error = nullptr;
  if (hexlane_decode(As<hexlane_engine>(engine), ids->data(), ids->size(), skip_special == JNI_TRUE,
                     &text, &size, &error) == HEXLANE_OK)
    return Take(env, text, size);
  Throw(env, error);
  return nullptr;
}

jbyteArray RenderChat(JNIEnv* env, jclass, jlong engine, jbyteArray bytes) {
  const auto messages = Text(env, bytes);
  if (!messages) return nullptr;
  char* text = nullptr;
  size_t size = 0;
  hexlane_error* error = nullptr;
  if (hexlane_render_chat(As<hexlane_engine>(engine), messages->data(), messages->size(), &text,
                          &size, &error) == HEXLANE_OK)
    return Take(env, text, size);
  Throw(env, error);
  return nullptr;
}

jlong SessionNew(JNIEnv* env, jclass, jlong engine) {
  hexlane_session* session = nullptr;
  hexlane_error* error = nullptr;
  if (hexlane_session_new(As<hexlane_engine>(engine), &session, &error) != HEXLANE_OK)
    Throw(env, error);
  return ToJava(session);
}

void SessionFree(JNIEnv*, jclass, jlong session) {
  hexlane_session_free(As<hexlane_session>(session));
}

jlong SessionPosition(JNIEnv*, jclass, jlong session) {
  return hexlane_session_position(As<hexlane_session>(session));
}

jlong SessionCapacity(JNIEnv*, jclass, jlong session) {
  return hexlane_session_capacity(As<hexlane_session>(session));
}

void SessionRewind(JNIEnv* env, jclass, jlong session, jlong position) {
  hexlane_error* error = nullptr;
  if (hexlane_session_rewind(As<hexlane_session>(session), position, &error) != HEXLANE_OK)
    Throw(env, error);
}

jlong SessionKeepCommonPrefix(JNIEnv* env, jclass, jlong session, jintArray array) {
  const auto ids = Ints(env, array);
  if (!ids) return 0;
  return hexlane_session_keep_common_prefix(As<hexlane_session>(session), ids->data(), ids->size());
}

void SessionCancel(JNIEnv*, jclass, jlong session) {
  hexlane_session_cancel(As<hexlane_session>(session));
}

// False: an exception is pending.
bool ReadStops(JNIEnv* env, jobjectArray stops, std::vector<std::string>& texts) {
  const jsize count = stops == nullptr ? 0 : env->GetArrayLength(stops);
  for (jsize i = 0; i < count; ++i) {
    const Local<jobject> element(env, env->GetObjectArrayElement(stops, i));
    auto text = Text(env, static_cast<jbyteArray>(element.get()));
    if (!text) return false;
    texts.push_back(std::move(*text));
  }
  return true;
}

jlong StreamStart(JNIEnv* env, jclass, jlong session, jintArray prompt, jint max_tokens,
                  jfloat temperature, jint top_k, jfloat top_p, jfloat min_p,
                  jfloat repetition_penalty, jint repetition_window, jlong seed, jobjectArray stops,
                  jboolean ignore_eos) {
  const auto ids = Ints(env, prompt);
  std::vector<std::string> texts;
  if (!ids || !ReadStops(env, stops, texts)) return 0;
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  const hexlane_generate_options options = {.struct_size = sizeof(options),
                                            .max_tokens = max_tokens,
                                            .temperature = temperature,
                                            .top_k = top_k,
                                            .top_p = top_p,
                                            .min_p = min_p,
                                            .repetition_penalty = repetition_penalty,
                                            .repetition_window = repetition_window,
                                            .seed = static_cast<uint64_t>(seed),
                                            .stop = pointers.data(),
                                            .stop_count = pointers.size(),
                                            .ignore_eos = ignore_eos == JNI_TRUE};
  hexlane_stream* stream = nullptr;
  hexlane_error* error = nullptr;
  if (hexlane_stream_start(As<hexlane_session>(session), ids->data(), ids->size(), &options,
                           &stream, &error) != HEXLANE_OK)
    Throw(env, error);
  return ToJava(stream);
}

void Fill(JNIEnv* env, const hexlane_event& event, jobject into) {
  const Local<jbyteArray> text(env, Bytes(env, {event.text, event.text_size}));
  if (text.get() == nullptr) return;
  const Local<jintArray> ids(env, IntArray(env, event.ids, event.id_count));
  if (ids.get() == nullptr) return;
  env->SetObjectField(into, Event().text, text.get());
  env->SetObjectField(into, Event().ids, ids.get());
  env->SetIntField(into, Event().prompt_done, event.prompt_done);
  env->SetIntField(into, Event().prompt_total, event.prompt_total);
  env->SetBooleanField(into, Event().done, event.done ? JNI_TRUE : JNI_FALSE);
}

void StreamNext(JNIEnv* env, jclass, jlong stream, jint timeout_ms, jobject into) {
  auto event = HEXLANE_INIT(hexlane_event);
  hexlane_error* error = nullptr;
  if (hexlane_stream_next(As<hexlane_stream>(stream), timeout_ms, &event, &error) != HEXLANE_OK)
    return Throw(env, error);
  Fill(env, event, into);
}

// finish reason, prompt and generated tokens, seconds of loading, to the first token, of prefill
// and decode, tokens per second of both, seconds inside the backend, peak bytes.
jdoubleArray StreamFinish(JNIEnv* env, jclass, jlong stream) {
  hexlane_result* result = nullptr;
  hexlane_error* error = nullptr;
  if (hexlane_stream_finish(As<hexlane_stream>(stream), &result, &error) != HEXLANE_OK) {
    Throw(env, error);
    return nullptr;
  }
  auto stats = HEXLANE_INIT(hexlane_stats);
  hexlane_result_stats(result, &stats);
  const double reason = hexlane_result_finish_reason(result);
  hexlane_result_free(result);
  return DoubleArray(
      env, {reason, static_cast<double>(stats.prompt_tokens),
            static_cast<double>(stats.generated_tokens), stats.load, stats.first_token,
            stats.prefill, stats.decode, stats.prefill_tok_s, stats.decode_tok_s, stats.execute,
            static_cast<double>(stats.peak_rss_bytes)});
}

void StreamFree(JNIEnv*, jclass, jlong stream) { hexlane_stream_free(As<hexlane_stream>(stream)); }

jbyteArray Version(JNIEnv* env, jclass) { return Bytes(env, hexlane_version()); }

template <typename Function>
JNINativeMethod Method(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

bool Register(JNIEnv* env) {
  const JNINativeMethod methods[] = {
      Method("version", "()[B", Version),
      Method("loadStart", "([B[B[B[B[B[BJIIZLdev/hexlane/NativeProgress;)J", LoadStart),
      Method("loadCancel", "(J)V", LoadCancel),
      Method("loadFinish", "(J)J", LoadFinish),
      Method("loadFree", "(J)V", LoadFree),
      Method("engineWarmUp", "(J)V", EngineWarmUp),
      Method("engineTrim", "(JI)V", EngineTrim),
      Method("engineFree", "(J)V", EngineFree),
      Method("engineTexts", "(J)[[B", EngineTexts),
      Method("engineNumbers", "(J)[D", EngineNumbers),
      Method("encode", "(J[BZZ)[I", Encode),
      Method("decode", "(J[IZ)[B", Decode),
      Method("renderChat", "(J[B)[B", RenderChat),
      Method("sessionNew", "(J)J", SessionNew),
      Method("sessionFree", "(J)V", SessionFree),
      Method("sessionPosition", "(J)J", SessionPosition),
      Method("sessionCapacity", "(J)J", SessionCapacity),
      Method("sessionRewind", "(JJ)V", SessionRewind),
      Method("sessionKeepCommonPrefix", "(J[I)J", SessionKeepCommonPrefix),
      Method("sessionCancel", "(J)V", SessionCancel),
      Method("streamStart", "(J[IIFIFFFIJ[[BZ)J", StreamStart),
      Method("streamNext", "(JILdev/hexlane/NativeEvent;)V", StreamNext),
      Method("streamFinish", "(J)[D", StreamFinish),
      Method("streamFree", "(J)V", StreamFree),
  };
  const Local<jclass> type(env, env->FindClass("dev/hexlane/Native"));
  if (type.get() == nullptr) return false;
  return env->RegisterNatives(type.get(), methods, static_cast<jint>(std::size(methods))) == JNI_OK;
}

}  // namespace
}  // namespace hexlane::jni

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  const bool loaded = hexlane::jni::LoadClasses(env) && hexlane::jni::Register(env);
  return loaded ? JNI_VERSION_1_6 : JNI_ERR;
}
