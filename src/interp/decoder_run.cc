#include "interp/decoder_run.h"

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

}  // namespace hexlane
