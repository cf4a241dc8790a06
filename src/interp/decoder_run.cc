#include "interp/decoder_run.h"

#include "base/check.h"
#include "hexlane/interrupt.h"
#include "op/dims.h"

namespace hexlane {

Bindings DecoderRun::InputsFor(const Graph& unit, size_t index) const {
  Bindings inputs;
  const auto rows = static_cast<int64_t>(sequences_[index].size());
  for (const ValueId id : unit.inputs()) {
    const Value& value = unit.value(id);
    HostValue& input = inputs[value.name];
    input.shape = Specialise(value.shape, rows, 0);
    if (value.name == "ids") {
      input.ints = sequences_[index];
    } else if (value.dtype == DType::kI32) {
      input.ints = {0};  // past_len
    } else if (input.shape.elements() > 0) {
      input.floats = hidden_[index];
    }
  }
  return inputs;
}

Result<void> DecoderRun::Advance(const Graph& unit, const InterpreterOptions& options,
                                 const Observer& observer, const Sink& sink) {
  Interpreter interpreter(unit, options);
  const std::string& output = unit.value(unit.outputs()[0]).name;
  for (size_t i = 0; i < sequences_.size(); ++i) {
    TRY(CheckInterrupt());
    Bindings outputs = TRY(interpreter.Run(InputsFor(unit, i), observer));
    std::vector<float>& values = outputs[output].floats;
    if (sink)
      TRY(sink(i, std::move(values)));
    else
      hidden_[i] = std::move(values);
  }
  return {};
}

Result<std::vector<float>> DecoderRun::RunRows(const Graph& head, Interpreter& interpreter,
                                               const Rows& rows, const Observer& observer) const {
  const std::vector<float>& hidden = hidden_[rows.index];
  const size_t dim = hidden.size() / sequences_[rows.index].size();
  CHECK(rows.count > 0 && (rows.first + rows.count) * dim <= hidden.size());
  if (head.inputs().size() != 1)
    return InvalidInput("the head has {} inputs", head.inputs().size()).Want("hidden states alone");
  const Value& value = head.value(head.inputs()[0]);
  HostValue input{.shape = Specialise(value.shape, static_cast<int64_t>(rows.count), 0)};
  const auto begin = hidden.begin() + static_cast<ptrdiff_t>(rows.first * dim);
  input.floats.assign(begin, begin + static_cast<ptrdiff_t>(rows.count * dim));
  Bindings inputs;
  inputs.emplace(value.name, std::move(input));
  Bindings outputs = TRY(interpreter.Run(inputs, observer));
  return std::move(outputs[head.value(head.outputs()[0]).name].floats);
}

}  // namespace hexlane
