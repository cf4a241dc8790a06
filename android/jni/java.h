// Java arrays as C++ values, local references that free themselves, and errors as exceptions.
//
// A function that gives std::nullopt or false has left a Java exception pending: its caller returns
// at once.
#ifndef HEXLANE_JNI_JAVA_H_
#define HEXLANE_JNI_JAVA_H_

#include <jni.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hexlane/hexlane.h"

namespace hexlane::jni {

// Freed at the end of the scope rather than when Java is returned to: loops cannot run out of them.
template <typename Object>
class Local {
 public:
  Local(JNIEnv* env, Object object) : env_(env), object_(object) {}
  ~Local() {
    if (object_ != nullptr) env_->DeleteLocalRef(object_);
  }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  Object get() const { return object_; }
  Object Release() { return std::exchange(object_, nullptr); }

 private:
  JNIEnv* env_;
  Object object_;
};

// Text crosses as UTF-8 bytes: Java's own C strings are of another encoding and abort on a split
// character.
std::optional<std::string> Text(JNIEnv* env, jbyteArray bytes);  // "" for null
jbyteArray Bytes(JNIEnv* env, std::string_view text);            // null: an exception is pending

std::optional<std::vector<int32_t>> Ints(JNIEnv* env, jintArray array);
jintArray IntArray(JNIEnv* env, const int32_t* values, size_t count);
jdoubleArray DoubleArray(JNIEnv* env, std::initializer_list<double> values);

// Looks up the classes and fields that native code needs; false: an exception is pending.
bool LoadClasses(JNIEnv* env);

// Throws the exception of `error`, which is freed.
void Throw(JNIEnv* env, hexlane_error* error);

struct EventFields {
  jfieldID text, ids, prompt_done, prompt_total, done;
};
const EventFields& Event();

}  // namespace hexlane::jni

#endif  // HEXLANE_JNI_JAVA_H_
