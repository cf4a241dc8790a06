// Where a template is while it runs: its variables and its output.
#ifndef HEXLANE_RUNTIME_JINJA_FRAME_H_
#define HEXLANE_RUNTIME_JINJA_FRAME_H_

#include "runtime/jinja/env.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

// Variables of one template, loop iteration, macro call or block; what is not here is looked for in
// `parent`. Names are views of the template's or the context's own strings, which outlive the
// rendering.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string_view, Value>> variables;

  void Set(std::string_view name, Value value);
};

struct Frame {
  Env& env;
  std::shared_ptr<Scope> scope;
  std::string* out;

  Result<void> Emit(std::string_view text);
  Result<const Value*> Find(std::string_view name);  // null when there is none
};

// A new innermost scope for as long as this lives.
class InnerScope {
 public:
  explicit InnerScope(Frame& frame) : InnerScope(frame, frame.scope) {}
  InnerScope(Frame& frame, std::shared_ptr<Scope> parent) : frame_(frame), outer_(frame.scope) {
    frame.scope = std::make_shared<Scope>(Scope{std::move(parent), {}});
  }
  ~InnerScope() { frame_.scope = std::move(outer_); }
  InnerScope(const InnerScope&) = delete;
  InnerScope& operator=(const InnerScope&) = delete;

 private:
  Frame& frame_;
  std::shared_ptr<Scope> outer_;
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_FRAME_H_
