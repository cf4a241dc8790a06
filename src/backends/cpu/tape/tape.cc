#include "backends/cpu/tape/tape.h"

#include <array>
#include <cmath>
#include <iterator>

namespace hexlane {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kMaxBuffers = 1 << 12, kMaxSteps = 1 << 20;
constexpr int64_t kMaxColumns = int64_t{1} << 24;

const TapeOpInfo* Ops() {
  static const TapeOpInfo ops[] = {
#define TAPE_OP(Name, text, buffers, weights, optional, Attrs) \
  {text, buffers, weights, optional, Attrs{}},
#include "backends/cpu/tape/tape_ops.def"
#undef TAPE_OP
  };
  return ops;
}
constexpr size_t kOpCount = 0
#define TAPE_OP(...) +1
#include "backends/cpu/tape/tape_ops.def"
#undef TAPE_OP
    ;

Result<TapeOp> OpNamed(std::string_view name, std::string_view where) {
  for (size_t i = 0; i < kOpCount; ++i)
    if (Ops()[i].name == name) return static_cast<TapeOp>(i);
  return Corrupt("unknown op '{}'", name).At("{}", where);
}

Json EncodingJson(const Encoding& encoding) {
  return {
      {"dtype", DTypeName(encoding.dtype)}, {"scale", encoding.scale}, {"offset", encoding.offset}};
}

Result<std::optional<Encoding>> EncodingField(const Json& step, const std::string& key,
                                              const std::string& where) {
  if (!step.contains(key)) return std::optional<Encoding>();
  const Json* json = TRY(JsonObject(step, key, where));
  const std::string at = fmt::format("{}: {}", where, key);
  const auto dtype = DTypeFromName(TRY(JsonField<std::string>(*json, "dtype", at)));
  Encoding encoding;
  encoding.dtype = dtype.value_or(DType::kF32);
  if (!encoding.is_integer()) return Corrupt("not an integer data type").At("{}", at);
  encoding.scale = static_cast<float>(TRY(JsonField<double>(*json, "scale", at)));
  const int64_t offset = TRY(JsonField<int64_t>(*json, "offset", at));
  if (!(encoding.scale > 0) || !std::isfinite(encoding.scale) || std::abs(offset) > (1 << 20))
    return Corrupt("bad encoding").At("{}", at);
  encoding.offset = static_cast<int32_t>(offset);
  return std::optional(encoding);
}

Json StepJson(const TapeStep& step) {
  Json json = {{"op", Info(step.op).name}, {"name", step.name}, {"out", step.out}};
  if (!step.in.empty()) json["in"] = step.in;
  if (!step.weights.empty()) json["weights"] = step.weights;
  if (step.accumulate) json["accumulate"] = true;
  Attrs attrs = step.attrs;
  const auto put = [&](std::string_view name, auto& field) { json[std::string(name)] = field; };
  std::visit([&](auto& fields) { fields.Visit(put); }, attrs);
  if (step.k_encoding) json["k_encoding"] = EncodingJson(*step.k_encoding);
  if (step.v_encoding) json["v_encoding"] = EncodingJson(*step.v_encoding);
  return json;
}

// Reads one step of `json`.
class StepReader {
 public:
  StepReader(const Json& json, std::string where, size_t buffers)
      : json_(json), where_(std::move(where)), buffers_(buffers) {}

  Result<TapeStep> Read() {
    TapeStep step;
    step.op = TRY(OpNamed(TRY(JsonField<std::string>(json_, "op", where_)), where_));
    step.name = TRY(JsonField<std::string>(json_, "name", where_));
    where_ += fmt::format(" '{}'", step.name);
    step.out = TRY(Buffer(TRY(JsonField<int64_t>(json_, "out", where_))));
    TRY(ReadInputs(step));
    TRY(ReadWeights(step));
    step.accumulate = TRY(JsonFieldOr<bool>(json_, "accumulate", false, where_));
    if (step.accumulate && step.op != TapeOp::kLinear)
      return Corrupt("only linear can accumulate").At("{}", where_);
    step.attrs = TRY(ReadAttrs(Info(step.op).default_attrs));
    step.k_encoding = TRY(EncodingField(json_, "k_encoding", where_));
    step.v_encoding = TRY(EncodingField(json_, "v_encoding", where_));
    return step;
  }

 private:
  Result<int> Buffer(int64_t index) {
    if (index >= 0 && index < static_cast<int64_t>(buffers_)) return static_cast<int>(index);
    return Corrupt("no such buffer").At("{}", where_).Want("0..{}", buffers_ - 1).Got("{}", index);
  }

  Result<void> ReadInputs(TapeStep& step) {
    const size_t want = Info(step.op).buffers;
    if (want == 0) return {};
    const Json* in = TRY(JsonArray(json_, "in", where_));
    if (in->size() != want)
      return Corrupt("wrong number of inputs")
          .At("{}", where_)
          .Want("{}", want)
          .Got("{}", in->size());
    for (const Json& index : *in) {
      if (!index.is_number_integer()) return Corrupt("bad input number").At("{}", where_);
      step.in.push_back(TRY(Buffer(index.get<int64_t>())));
    }
    return {};
  }

  Result<void> ReadWeights(TapeStep& step) {
    const TapeOpInfo& info = Info(step.op);
    if (info.weights == 0) return {};
    const Json* weights = TRY(JsonArray(json_, "weights", where_));
    if (weights->size() < info.weights || weights->size() > info.weights + info.optional_weights)
      return Corrupt("wrong number of weights").At("{}", where_).Got("{}", weights->size());
    for (const Json& name : *weights) {
      if (!name.is_string()) return Corrupt("a weight's name is not a string").At("{}", where_);
      step.weights.push_back(name.get<std::string>());
    }
    return {};
  }

  Result<Attrs> ReadAttrs(Attrs attrs) {
    Result<void> result;
    const auto read = [&](std::string_view name, auto& field) {
      using Field = std::remove_reference_t<decltype(field)>;
      using Stored = std::conditional_t<std::is_floating_point_v<Field>, double, int64_t>;
      auto value = JsonField<Stored>(json_, name, where_);
      if (!value && result) result = tl::unexpected(std::move(value).error());
      if (value) field = static_cast<Field>(*value);
      if constexpr (std::is_floating_point_v<Field>)
        if (result && !std::isfinite(field))
          result = Corrupt("'{}' is too large for a float", name).At("{}", where_);
    };
    std::visit([&](auto& fields) { fields.Visit(read); }, attrs);
    TRY(std::move(result));
    return attrs;
  }

  const Json& json_;
  std::string where_;
  size_t buffers_;
};

Result<std::vector<int64_t>> ReadBuffers(const Json& json, std::string_view where) {
  const Json* buffers = TRY(JsonArray(json, "buffers", where));
  if (buffers->empty() || buffers->size() > kMaxBuffers)
    return Corrupt("impossible number of buffers").At("{}", where).Got("{}", buffers->size());
  std::vector<int64_t> columns;
  for (const Json& count : *buffers) {
    if (!count.is_number_integer() || count < 1 || count > kMaxColumns)
      return Corrupt("impossible buffer size").At("{}", where).Want("1..{}", kMaxColumns);
    columns.push_back(count.get<int64_t>());
  }
  return columns;
}

}  // namespace

const TapeOpInfo& Info(TapeOp op) { return Ops()[static_cast<size_t>(op)]; }

Json ToJson(const Tape& tape) {
  Json steps = Json::array();
  for (const TapeStep& step : tape.steps) steps.push_back(StepJson(step));
  return {{"version", kVersion},
          {"buffers", tape.buffers},
          {"input", tape.input},
          {"output", tape.output},
          {"activation_bits", tape.activation_bits},
          {"steps", std::move(steps)}};
}

Result<Tape> TapeFromJson(const Json& json, std::string_view where) {
  const int64_t version = TRY(JsonField<int64_t>(json, "version", where));
  if (version != kVersion)
    return Unsupported("tape version {}", version).At("{}", where).Want("{}", kVersion);
  Tape tape;
  tape.buffers = TRY(ReadBuffers(json, where));
  const auto count = static_cast<int64_t>(tape.buffers.size());
  const int64_t input = TRY(JsonField<int64_t>(json, "input", where));
  const int64_t output = TRY(JsonField<int64_t>(json, "output", where));
  if (input < -1 || input >= count || output < 0 || output >= count)
    return Corrupt("no such buffer").At("{}: input or output", where).Want("below {}", count);
  tape.input = static_cast<int>(input);
  tape.output = static_cast<int>(output);
  const int64_t bits = TRY(JsonField<int64_t>(json, "activation_bits", where));
  if (bits != 8 && bits != 16)
    return Corrupt("activation_bits").At("{}", where).Want("8 or 16").Got("{}", bits);
  tape.activation_bits = static_cast<int>(bits);
  const Json* steps = TRY(JsonArray(json, "steps", where));
  if (steps->empty() || steps->size() > kMaxSteps)
    return Corrupt("impossible number of steps").At("{}", where).Got("{}", steps->size());
  for (size_t i = 0; i < steps->size(); ++i) {
    StepReader reader((*steps)[i], fmt::format("{}: step {}", where, i), tape.buffers.size());
    tape.steps.push_back(TRY(reader.Read()));
  }
  return tape;
}

}  // namespace hexlane
