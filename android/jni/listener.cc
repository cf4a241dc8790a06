#include "jni/listener.h"

#include "jni/java.h"

namespace hexlane::jni {
namespace {

// This thread's JNIEnv; a thread that Java does not know is attached while this exists. As a
// daemon: it must not keep Java from ending.
class Attached {
 public:
  explicit Attached(JavaVM* vm) : vm_(vm) {
    if (vm->GetEnv(reinterpret_cast<void**>(&env_), JNI_VERSION_1_6) == JNI_OK) return;
#ifdef __ANDROID__
    attached_ = vm->AttachCurrentThreadAsDaemon(&env_, nullptr) == JNI_OK;
#else
    attached_ = vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env_), nullptr) == JNI_OK;
#endif
    if (!attached_) env_ = nullptr;
  }
  ~Attached() {
    if (attached_) vm_->DetachCurrentThread();
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  JNIEnv* env() const { return env_; }

 private:
  JavaVM* vm_;
  JNIEnv* env_ = nullptr;
  bool attached_ = false;
};

}  // namespace

bool Listener::Listen(JNIEnv* env, jobject progress) {
  if (progress == nullptr) return true;
  const Local<jclass> type(env, env->GetObjectClass(progress));
  on_load_ = env->GetMethodID(type.get(), "onLoad", "(IJJ)Z");
  if (on_load_ == nullptr || env->GetJavaVM(&vm_) != JNI_OK) return false;
  progress_ = env->NewGlobalRef(progress);
  return progress_ != nullptr;
}

Listener::~Listener() {
  if (progress_ == nullptr) return;
  const Attached java(vm_);
  if (java.env() != nullptr) java.env()->DeleteGlobalRef(progress_);
}

bool Listener::OnLoad(int32_t phase, uint64_t done, uint64_t total) const {
  if (progress_ == nullptr) return true;
  const Attached java(vm_);
  if (java.env() == nullptr) return true;
  const jboolean go_on = java.env()->CallBooleanMethod(
      progress_, on_load_, phase, static_cast<jlong>(done), static_cast<jlong>(total));
  if (!java.env()->ExceptionCheck()) return go_on == JNI_TRUE;
  java.env()->ExceptionClear();
  return false;
}

}  // namespace hexlane::jni
