#include "runtime/jinja/frame.h"

namespace hexlane::jinja {

void Scope::Set(std::string_view name, Value value) {
  for (auto& variable : variables) {
    if (variable.first != name) continue;
    variable.second = std::move(value);
    return;
  }
  variables.emplace_back(name, std::move(value));
}

Result<void> Frame::Emit(std::string_view text) {
  TRY(env.Step(text.size() / 64));
  if (text.size() > env.options().max_output_bytes - out->size())
    return InvalidInput("the output grows too long")
        .Want("at most {} bytes", env.options().max_output_bytes);
  out->append(text);
  return {};
}

Result<const Value*> Frame::Find(std::string_view name) {
  for (const Scope* at = scope.get(); at != nullptr; at = at->parent.get()) {
    TRY(env.Step(at->variables.size() / 16));
    for (const auto& [key, value] : at->variables)
      if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace hexlane::jinja
