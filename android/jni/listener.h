// Calls from native threads into Java.
#ifndef HEXLANE_JNI_LISTENER_H_
#define HEXLANE_JNI_LISTENER_H_

#include <jni.h>

#include <cstdint>

namespace hexlane::jni {

// A dev.hexlane.NativeProgress that a native thread tells. Made and destroyed on Java's threads.
class Listener {
 public:
  Listener() = default;
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // `progress` may be null: nobody listens. False: an exception is pending.
  bool Listen(JNIEnv* env, jobject progress);

  // From any thread, which is attached to Java for the call. False: Java wants the work to end, or
  // threw; what it threw is dropped, since there is no Java caller to catch it.
  bool OnLoad(int32_t phase, uint64_t done, uint64_t total) const;

 private:
  JavaVM* vm_ = nullptr;
  jobject progress_ = nullptr;  // a global reference
  jmethodID on_load_ = nullptr;
};

}  // namespace hexlane::jni

#endif  // HEXLANE_JNI_LISTENER_H_
