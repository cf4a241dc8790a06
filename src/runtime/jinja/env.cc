#include "runtime/jinja/env.h"

#include <algorithm>

namespace hexlane::jinja {
namespace {

constexpr int kMaxValueDepth = 200;
constexpr size_t kObjectBytes = 64;  // of a control block, a string's or a vector's own fields

Failure TooManySteps(const RenderOptions& options) {
  return InvalidInput("the template runs too long").Want("at most {} steps", options.max_steps);
}

int DepthOf(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.Depth());
  return depth + 1;
}

}  // namespace

Env::~Env() {
  for (const auto& clear : at_end_) clear();
}

Result<void> Env::Step(size_t steps) {
  steps_ += steps;
  if (steps_ <= options_.max_steps) return {};
  return TooManySteps(options_);
}

Result<void> Env::Allocate(size_t bytes) {
  bytes_ += bytes + kObjectBytes;
  if (bytes_ <= options_.max_allocated_bytes) return {};
  return InvalidInput("the template uses too much memory")
      .Want("at most {} bytes", options_.max_allocated_bytes);
}

Result<void> Env::Scan(const Value& value) {
  if (value.IsText()) return Step(value.text().size() / 64);
  if (value.Is(Value::Kind::kList) || value.Is(Value::Kind::kTuple))
    return Step(value.sequence()->items.size() / 8);
  if (value.Is(Value::Kind::kDict)) return Step(value.dict().entries.size() / 8);
  return {};
}

Result<void> Env::CheckDepth(int depth) const {
  if (depth <= kMaxValueDepth) return {};
  return InvalidInput("a value nests too deep").Want("at most {} levels", kMaxValueDepth);
}

Result<Value> Env::MakeText(std::string text, bool markup) {
  if (text.size() > options_.max_output_bytes)
    return InvalidInput("a string grows too long")
        .Want("at most {} bytes", options_.max_output_bytes)
        .Got("{}", text.size());
  TRY(Allocate(text.size()));
  return Value(Text{std::make_shared<const std::string>(std::move(text)), markup});
}

Result<SequenceRef> Env::MakeSequence(std::vector<Value> items) {
  TRY(Allocate(items.size() * sizeof(Value)));
  const int depth = DepthOf(items);
  TRY(CheckDepth(depth));
  return std::make_shared<const Sequence>(Sequence{std::move(items), depth});
}

Result<Value> Env::MakeList(std::vector<Value> items) {
  return Value(List{TRY(MakeSequence(std::move(items)))});
}

Result<Value> Env::MakeTuple(std::vector<Value> items) {
  return Value(Tuple{TRY(MakeSequence(std::move(items)))});
}

Result<Value> Env::MakeDict(std::vector<std::pair<Value, Value>> entries) {
  TRY(Allocate(entries.size() * 2 * sizeof(Value)));
  int depth = 0;
  for (const auto& [key, value] : entries) depth = std::max({depth, key.Depth(), value.Depth()});
  TRY(CheckDepth(depth + 1));
  return Value(std::make_shared<const Dict>(Dict{std::move(entries), depth + 1}));
}

Result<Value> Env::MakeObject(ObjectRef object) {
  TRY(Allocate(sizeof(Value)));
  TRY(CheckDepth(object->depth()));
  return Value(std::move(object));
}

bool Env::TryEnter() {
  if (depth_ >= options_.max_depth || ++steps_ > options_.max_steps) return false;
  ++depth_;
  return true;
}

Failure Env::EnterFailure() const {
  if (steps_ > options_.max_steps) return TooManySteps(options_);
  return InvalidInput("the template nests or recurses too deep")
      .Want("at most {} levels", options_.max_depth);
}

}  // namespace hexlane::jinja
