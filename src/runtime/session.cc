#include "runtime/session_impl.h"

#include <algorithm>

#include "hexlane/interrupt.h"

namespace hexlane {

Result<std::unique_ptr<Session::Impl>> Session::Impl::New(
    std::shared_ptr<const Engine::Impl> engine) {
  auto impl = std::make_unique<Impl>();
  impl->state = TRY(engine->model->NewState());
  impl->tokens.reserve(static_cast<size_t>(engine->model->context()));
  impl->logits.resize(static_cast<size_t>(engine->model->shape().vocab));
  impl->engine = std::move(engine);
  return impl;
}

Result<void> Session::Impl::CheckFits(std::span<const int32_t> ids) const {
  if (ids.empty()) {
    return InvalidInput("there are no tokens to run")
        .Want("at least one")
        .Remedy("Give a prompt that is not empty");
  }
  const int vocab = model().shape().vocab;
  const auto bad = std::ranges::find_if(ids, [&](int32_t id) { return id < 0 || id >= vocab; });
  if (bad != ids.end()) {
    return InvalidInput("a token is not in the vocabulary")
        .At("token {}", bad - ids.begin())
        .Want("0..{}", vocab - 1)
        .Got("{}", *bad);
  }
  const int64_t room = capacity() - position();
  const auto count = static_cast<int64_t>(ids.size());
  if (count <= room) return {};
  return InvalidInput("the prompt does not fit the context: it is {} tokens too long", count - room)
      .Want("at most {} tokens ({} of {} positions are taken)", room, position(), capacity())
      .Got("{}", count)
      .Remedy("Shorten the prompt, or convert the model with a larger --context");
}

Step Session::Impl::Next(std::span<const int32_t> ids) const {
  const Variant& variant = model().variant();
  return NextStep(variant.stages, position(), static_cast<int64_t>(ids.size()),
                  WorthwhileRows(variant));
}

Result<void> Session::Impl::RunStep(const Step& step, std::span<const int32_t> ids,
                                    const ModelRun& run) {
  ModelRun full = run;
  full.stage = step.stage;
  full.past_len = position();
  full.ids = ids.first(static_cast<size_t>(step.rows));
  TRY(model().Run(state, full));
  tokens.insert(tokens.end(), full.ids.begin(), full.ids.end());
  return {};
}

Result<int> Session::Impl::Advance(std::span<const int32_t> ids, RunTimes* times) {
  const Step step = Next(ids);
  TRY(RunStep(step, ids, {.logits = logits, .times = times}));
  return step.rows;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

int64_t Session::position() const { return impl_->position(); }
int64_t Session::capacity() const { return impl_->capacity(); }
std::span<const int32_t> Session::tokens() const { return impl_->tokens; }

Result<void> Session::Rewind(int64_t position) {
  if (position < 0 || position > impl_->position()) {
    return InvalidInput("cannot rewind to a position that is not in the cache")
        .Want("0..{}", impl_->position())
        .Got("{}", position);
  }
  impl_->tokens.resize(static_cast<size_t>(position));
  return {};
}

void Session::Reset() { impl_->tokens.clear(); }

int64_t Session::KeepCommonPrefix(std::span<const int32_t> ids) {
  const auto [mine, theirs] = std::ranges::mismatch(impl_->tokens, ids);
  int64_t common = mine - impl_->tokens.begin();
  if (common == static_cast<int64_t>(ids.size())) common = std::max<int64_t>(common - 1, 0);
  impl_->tokens.resize(static_cast<size_t>(common));
  return common;
}

Result<std::span<const float>> Session::Feed(std::span<const int32_t> ids) {
  TRY(impl_->CheckFits(ids));
  while (!ids.empty()) {
    TRY(CheckInterrupt());
    ids = ids.subspan(static_cast<size_t>(TRY(impl_->Advance(ids, nullptr))));
  }
  return impl_->logits;
}

}  // namespace hexlane
