// Jinja as Hugging Face's chat templates use it: parse once, render as often as wanted, from any
// thread. The environment is that of transformers' apply_chat_template: trim_blocks, lstrip_blocks,
// break and continue,
// {% generation %}, tojson as json.dumps, raise_exception, strftime_now, the immutable sandbox
// (docs/chat_template.md).
#ifndef HEXLANE_RUNTIME_JINJA_TEMPLATE_H_
#define HEXLANE_RUNTIME_JINJA_TEMPLATE_H_

#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane::jinja {

struct RenderOptions {
  std::optional<std::tm> now;               // what strftime_now sees; local time when absent
  size_t max_output_bytes = 16u << 20;      // of the result, and of every string on the way
  size_t max_allocated_bytes = 512u << 20;  // of all values ever made in one rendering
  size_t max_steps = 5'000'000;             // nodes evaluated, loop iterations, items looked at
  int max_depth = 250;                      // nested evaluations: expressions, blocks, macro calls
};

struct Program;  // the parsed template

class Template {
 public:
  // kCorrupt with the line for a syntax error, kUnsupported for a tag that needs other files
  // (extends, include, …).
  static Result<Template> Parse(std::string_view source);

  // `context` is a JSON object: the variables. kInvalidInput with the line when the template fails:
  // a value of the wrong type, an undefined value used, raise_exception, a limit of `options`
  // passed.
  Result<std::string> Render(const nlohmann::ordered_json& context,
                             const RenderOptions& options = {}) const;

 private:
  explicit Template(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  std::shared_ptr<const Program> program_;
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_TEMPLATE_H_
