// What one rendering may use up, and the makers of values that count it: no template, however
// hostile, can hang, overflow the stack or exhaust memory.
#ifndef HEXLANE_RUNTIME_JINJA_ENV_H_
#define HEXLANE_RUNTIME_JINJA_ENV_H_

#include <functional>

#include "runtime/jinja/template.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

class Env {
 public:
  explicit Env(const RenderOptions& options) : options_(options) {}
  ~Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  const RenderOptions& options() const { return options_; }

  // One step is about one node evaluated, or 64 bytes or 8 items looked at.
  Result<void> Step(size_t steps = 1);
  Result<void> Allocate(size_t bytes);    // counts all bytes ever made, not only those alive
  Result<void> Scan(const Value& value);  // the steps of looking through it once

  Result<Value> MakeText(std::string text, bool markup = false);
  Result<Value> MakeList(std::vector<Value> items);
  Result<Value> MakeTuple(std::vector<Value> items);
  Result<Value> MakeDict(std::vector<std::pair<Value, Value>> entries);  // keys already unique
  Result<Value> MakeObject(ObjectRef object);
  Result<SequenceRef> MakeSequence(std::vector<Value> items);

  // Runs `clear` when the rendering ends: breaks the reference cycles of namespaces and macros.
  void AtEnd(std::function<void()> clear) { at_end_.push_back(std::move(clear)); }

  // Nesting of evaluations. Enter counts a step and fails when it is too deep; Leave follows every
  // Enter that did not.
  Result<void> Enter() {
    if (!TryEnter()) return EnterFailure();
    return {};
  }
  bool TryEnter();  // the same without the reason, for the frames of deep recursions to be small
  [[gnu::noinline]] Failure EnterFailure() const;
  void Leave() { --depth_; }

 private:
  Result<void> CheckDepth(int depth) const;

  const RenderOptions& options_;
  size_t steps_ = 0;
  size_t bytes_ = 0;
  int depth_ = 0;
  std::vector<std::function<void()>> at_end_;
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_ENV_H_
