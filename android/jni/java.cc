#include "jni/java.h"

#include <limits>

namespace hexlane::jni {
namespace {

constexpr char kErrorsClass[] = "dev/hexlane/NativeErrors";
constexpr char kEventClass[] = "dev/hexlane/NativeEvent";

// Found once, when the library is loaded: a native thread would look in the wrong class loader.
jclass errors_class = nullptr;     // global reference
jmethodID to_exception = nullptr;  // (code, what, where, want, got, remedy) → Throwable
EventFields event_fields{};

void ThrowOutOfMemory(JNIEnv* env) {
  const Local<jclass> type(env, env->FindClass("java/lang/OutOfMemoryError"));
  if (type.get() != nullptr) env->ThrowNew(type.get(), "more elements than a Java array has");
}

// False: an exception is pending.
bool FitsJava(JNIEnv* env, size_t count) {
  if (count <= static_cast<size_t>(std::numeric_limits<jsize>::max())) return true;
  ThrowOutOfMemory(env);
  return false;
}

bool LoadErrors(JNIEnv* env) {
  const Local<jclass> type(env, env->FindClass(kErrorsClass));
  if (type.get() == nullptr) return false;
  errors_class = static_cast<jclass>(env->NewGlobalRef(type.get()));
  to_exception =
      env->GetStaticMethodID(type.get(), "toException", "(I[B[B[B[B[B)Ljava/lang/Throwable;");
  return errors_class != nullptr && to_exception != nullptr;
}

bool LoadEvent(JNIEnv* env) {
  const Local<jclass> type(env, env->FindClass(kEventClass));
  if (type.get() == nullptr) return false;
  const auto field = [&](jfieldID& id, const char* name, const char* signature) {
    id = env->GetFieldID(type.get(), name, signature);
    return id != nullptr;
  };
  return field(event_fields.text, "text", "[B") && field(event_fields.ids, "ids", "[I") &&
         field(event_fields.prompt_done, "promptDone", "I") &&
         field(event_fields.prompt_total, "promptTotal", "I") &&
         field(event_fields.done, "done", "Z");
}

}  // namespace

std::optional<std::string> Text(JNIEnv* env, jbyteArray bytes) {
  if (bytes == nullptr) return "";
  std::string text(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()),
                          reinterpret_cast<jbyte*>(text.data()));
  if (env->ExceptionCheck()) return std::nullopt;
  return text;
}

jbyteArray Bytes(JNIEnv* env, std::string_view text) {
  if (!FitsJava(env, text.size())) return nullptr;
  const auto size = static_cast<jsize>(text.size());
  jbyteArray made = env->NewByteArray(size);
  if (made != nullptr)
    env->SetByteArrayRegion(made, 0, size, reinterpret_cast<const jbyte*>(text.data()));
  return made;
}

std::optional<std::vector<int32_t>> Ints(JNIEnv* env, jintArray array) {
  std::vector<int32_t> values;
  if (array == nullptr) return values;
  values.resize(static_cast<size_t>(env->GetArrayLength(array)));
  env->GetIntArrayRegion(array, 0, static_cast<jsize>(values.size()), values.data());
  if (env->ExceptionCheck()) return std::nullopt;
  return values;
}

jintArray IntArray(JNIEnv* env, const int32_t* values, size_t count) {
  if (!FitsJava(env, count)) return nullptr;
  jintArray made = env->NewIntArray(static_cast<jsize>(count));
  if (made != nullptr) env->SetIntArrayRegion(made, 0, static_cast<jsize>(count), values);
  return made;
}

jdoubleArray DoubleArray(JNIEnv* env, std::initializer_list<double> values) {
  const auto count = static_cast<jsize>(values.size());
  jdoubleArray made = env->NewDoubleArray(count);
  if (made != nullptr) env->SetDoubleArrayRegion(made, 0, count, values.begin());
  return made;
}

bool LoadClasses(JNIEnv* env) { return LoadErrors(env) && LoadEvent(env); }

const EventFields& Event() { return event_fields; }

void Throw(JNIEnv* env, hexlane_error* error) {
  const Local<jbyteArray> what(env, Bytes(env, hexlane_error_what(error)));
  const Local<jbyteArray> where(env, Bytes(env, hexlane_error_where(error)));
  const Local<jbyteArray> want(env, Bytes(env, hexlane_error_want(error)));
  const Local<jbyteArray> got(env, Bytes(env, hexlane_error_got(error)));
  const Local<jbyteArray> remedy(env, Bytes(env, hexlane_error_remedy(error)));
  const jint code = hexlane_error_code(error);
  hexlane_error_free(error);
  if (env->ExceptionCheck()) return;
  const Local<jobject> exception(
      env, env->CallStaticObjectMethod(errors_class, to_exception, code, what.get(), where.get(),
                                       want.get(), got.get(), remedy.get()));
  if (env->ExceptionCheck()) return;
  if (exception.get() != nullptr) env->Throw(static_cast<jthrowable>(exception.get()));
}

}  // namespace hexlane::jni
