// Statements.
#include "runtime/jinja/ast.h"
#include "runtime/jinja/loop.h"
#include "runtime/jinja/macro.h"
#include "runtime/jinja/objects.h"
#include "runtime/jinja/print.h"

namespace hexlane::jinja {
namespace {

[[gnu::noinline]] Result<Flow> Located(Result<Flow> failure, int line) {
  if (failure.error().where.empty())
    failure.error().where = fmt::format("chat template line {}", line);
  return failure;
}

Result<Flow> ExecuteOne(const Stmt& statement, Frame& frame) {
  if (!frame.env.TryEnter()) return frame.env.EnterFailure();
  Result<Flow> flow = statement.Exec(frame);
  frame.env.Leave();
  return flow;
}

Result<void> AssignAttribute(const Target& target, Value value, Frame& frame) {
  const Value* object = TRY(frame.Find(target.name));
  Namespace* space = object == nullptr ? nullptr : object->As<Namespace>();
  if (space == nullptr)
    return InvalidInput("cannot assign attribute '{}' on '{}', which is not a namespace",
                        target.attribute, target.name);
  return space->Set(frame.env, target.attribute, std::move(value));
}

Result<void> Unpack(const std::vector<Target>& targets, const Value& value, Frame& frame) {
  const SequenceRef items = TRY(Iterate(frame.env, value));
  if (items->items.size() != targets.size())
    return InvalidInput("cannot unpack a {}", value.TypeName())
        .Want("{} values", targets.size())
        .Got("{}", items->items.size());
  for (size_t i = 0; i < targets.size(); ++i) TRY(Assign(targets[i], items->items[i], frame));
  return {};
}

Result<void> EmitValue(const Value& value, Frame& frame) {
  if (value.IsText()) return frame.Emit(value.text());
  return frame.Emit(TRY(Str(frame.env, value)));
}

}  // namespace

Result<Flow> Execute(const Block& block, Frame& frame) {
  for (const auto& statement : block) {
    Result<Flow> flow = ExecuteOne(*statement, frame);
    if (!flow) return Located(std::move(flow), statement->line);
    if (*flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<std::string> Capture(const Block& block, Frame& frame) {
  std::string out;
  Frame inner{frame.env, frame.scope, &out};
  TRY(Execute(block, inner));
  TRY(frame.env.Allocate(out.size()));
  return out;
}

Result<void> Assign(const Target& target, Value value, Frame& frame) {
  if (!target.targets.empty()) return Unpack(target.targets, value, frame);
  if (!target.attribute.empty()) return AssignAttribute(target, std::move(value), frame);
  TRY(frame.env.Step(frame.scope->variables.size() / 16));
  TRY(frame.env.Allocate(sizeof(Value)));
  frame.scope->Set(target.name, std::move(value));
  return {};
}

Result<Flow> Data::Exec(Frame& frame) const {
  TRY(frame.Emit(text));
  return Flow::kNext;
}

Result<Flow> Print::Exec(Frame& frame) const {
  const Value result = TRY(Evaluate(*value, frame));
  TRY(EmitValue(result, frame));
  return Flow::kNext;
}

Result<Flow> If::Exec(Frame& frame) const {
  for (const auto& [condition, block] : branches)
    if (TRY(Evaluate(*condition, frame)).Truth()) return Execute(block, frame);
  return Execute(otherwise, frame);
}

Result<Flow> For::Exec(Frame& frame) const {
  const Value value = TRY(Evaluate(*items, frame));
  return RunLoop(*this, frame, TRY(Iterate(frame.env, value)), 0);
}

Result<Flow> Set::Exec(Frame& frame) const {
  TRY(Assign(target, TRY(Evaluate(*value, frame)), frame));
  return Flow::kNext;
}

Result<Flow> SetBlock::Exec(Frame& frame) const {
  Value text;
  {
    InnerScope scope(frame);
    text = TRY(frame.env.MakeText(TRY(Capture(body, frame))));
    if (filter != nullptr) text = TRY(filter->Apply(frame, std::move(text)));
  }
  TRY(Assign(target, std::move(text), frame));
  return Flow::kNext;
}

Result<Flow> FilterBlock::Exec(Frame& frame) const {
  InnerScope scope(frame);
  Value text = TRY(frame.env.MakeText(TRY(Capture(body, frame))));
  TRY(EmitValue(TRY(filter->Apply(frame, std::move(text))), frame));
  return Flow::kNext;
}

Result<Flow> With::Exec(Frame& frame) const {
  std::vector<Value> values;
  for (const auto& [target, expr] : assignments) values.push_back(TRY(Evaluate(*expr, frame)));
  InnerScope scope(frame);
  for (size_t i = 0; i < values.size(); ++i)
    TRY(Assign(assignments[i].first, std::move(values[i]), frame));
  return Execute(body, frame);
}

Result<Flow> MacroDefinition::Exec(Frame& frame) const {
  Value value = TRY(MakeMacro(macro, frame));
  frame.scope->Set(macro.name, std::move(value));
  return Flow::kNext;
}

Result<Flow> CallBlock::Exec(Frame& frame) const {
  const Value function = TRY(Evaluate(*call->callee, frame));
  Args args;
  args.named.emplace_back("caller", TRY(MakeMacro(caller, frame)));
  TRY(call->arguments.Eval(frame, args));
  TRY(EmitValue(TRY(CallValue(frame.env, function, std::move(args))), frame));
  return Flow::kNext;
}

}  // namespace hexlane::jinja
