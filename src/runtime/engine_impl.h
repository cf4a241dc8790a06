#ifndef HEXLANE_RUNTIME_ENGINE_IMPL_H_
#define HEXLANE_RUNTIME_ENGINE_IMPL_H_

#include <memory>
#include <optional>

#include "hexlane/engine.h"
#include "runtime/chat/chat_template.h"
#include "runtime/model.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {

struct Engine::Impl {
  EngineInfo info;
  std::unique_ptr<const Model> model;
  std::unique_ptr<const Tokenizer> tokenizer;  // null where the package has none
  std::optional<Result<ChatTemplate>> chat;    // parsed when opened; why not, when that failed

  // kNotFound where the package has none.
  Result<const Tokenizer*> NeedTokenizer() const;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_ENGINE_IMPL_H_
