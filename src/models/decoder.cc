#include "models/decoder.h"

#include <charconv>

#include "base/json.h"
#include "models/models.h"
#include "op/dims.h"

namespace hexlane {
namespace {

std::span<const Architecture> Architectures() {
  static const Architecture kTable[] = {
#define MODEL(Name, name, hf, gguf) \
  {name, hf, gguf, Name##Tensors(), Read##Name##Config, Build##Name##Layer},
#include "models/models.def"
#undef MODEL
  };
  return kTable;
}

Result<std::string> DeclaredArchitecture(const Checkpoint& checkpoint) {
  const std::string where = checkpoint.where();
  if (checkpoint.format() == "gguf")
    return JsonField<std::string>(checkpoint.config(), "general.architecture", where);
  const Json* list = TRY(JsonArray(checkpoint.config(), "architectures", where + "/config.json"));
  if (list->empty() || !list->front().is_string())
    return Corrupt("bad field 'architectures'").At("{}/config.json", where).Want("a class name");
  return list->front().get<std::string>();
}

Result<const Architecture*> FindArchitecture(const Checkpoint& checkpoint) {
  const std::string declared = TRY(DeclaredArchitecture(checkpoint));
  const bool gguf = checkpoint.format() == "gguf";
  std::string known;
  for (const Architecture& row : Architectures()) {
    const std::string_view name = gguf ? row.gguf : row.hugging_face;
    if (name == declared) return &row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return Unsupported("architecture '{}' is not known", declared)
      .At("{}", checkpoint.where())
      .Want("one of: {}", known)
      .Remedy("docs/models.md says how an architecture is added");
}

Result<void> CheckConfig(const DecoderConfig& config, const std::string& where) {
  const std::pair<std::string_view, int64_t> positive[] = {
      {"layers", config.layers},      {"hidden size", config.hidden},
      {"heads", config.heads},        {"key/value heads", config.kv_heads},
      {"head size", config.head_dim}, {"feed-forward size", config.ffn},
      {"vocabulary", config.vocab},   {"context length", config.max_context}};
  for (const auto& [what, value] : positive) {
    if (value <= 0 || value > (int64_t{1} << 28))
      return InvalidInput("{} of {}", what, value).At("{}", where).Want("1 … 2^28");
  }
  if (config.layers > 4096) return InvalidInput("{} layers", config.layers).At("{}", where);
  if (config.heads % config.kv_heads != 0) {
    return InvalidInput("{} heads cannot share {} key/value heads", config.heads, config.kv_heads)
        .At("{}", where);
  }
  if (!(config.norm_eps >= 0 && config.norm_eps < 1))
    return InvalidInput("norm epsilon {}", config.norm_eps).At("{}", where).Want("0 … 1");
  return {};
}

// A tensor of a layer that the config does not count would be left out.
Result<void> CheckLayers(const Checkpoint& checkpoint, const Architecture& architecture,
                         int64_t layers) {
  std::string_view prefix;  // of the names of a layer's tensors
  for (const TensorName& row : architecture.tensors) {
    const std::string_view name = checkpoint.format() == "gguf" ? row.gguf : row.hugging_face;
    if (name.find("{}") != name.npos) prefix = name.substr(0, name.find("{}"));
  }
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (prefix.empty() || !tensor.name.starts_with(prefix)) continue;
    int64_t layer = 0;
    const char* begin = tensor.name.data() + prefix.size();
    const char* end = tensor.name.data() + tensor.name.size();
    if (std::from_chars(begin, end, layer).ec != std::errc() || layer < layers) continue;
    return InvalidInput("tensor '{}' is of a layer that the config does not count", tensor.name)
        .At("{}", checkpoint.where())
        .Want("layers 0 to {}", layers - 1)
        .Remedy("The config belongs to another model");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Decoder>> Decoder::Open(std::shared_ptr<const Checkpoint> checkpoint) {
  const Architecture* architecture = TRY(FindArchitecture(*checkpoint));
  DecoderConfig config = TRY(architecture->read_config(*checkpoint));
  TRY(CheckConfig(config, checkpoint->where()));
  TRY(CheckLayers(*checkpoint, *architecture, config.layers));
  return std::shared_ptr<const Decoder>(
      new Decoder(std::move(checkpoint), architecture, std::move(config)));
}

std::string UnitOutputName(int unit) {
  return unit == 0 ? "embed.out" : fmt::format("layers.{}.out", unit - 1);
}

Result<Graph> Decoder::Build(int unit) const {
  CHECK(unit >= 0 && unit < unit_count());
  const Shape hidden{kRows, config_.hidden};
  if (unit == 0) {
    UnitBuilder builder(*this, "embed", -1);
    const ValueId ids = builder.Input("ids", {kRows}, DType::kI32);
    return std::move(builder).Finish(builder.Embedding("embed.out", ids, "embed.weight"));
  }
  if (unit == unit_count() - 1) {
    UnitBuilder builder(*this, "head", -1);
    const ValueId x = builder.Input(UnitOutputName(unit - 1), hidden);
    const ValueId norm = builder.RmsNorm("final_norm", x, "final_norm.weight");
    const std::string_view weight = config_.tied ? "embed" : "lm_head";
    return std::move(builder).Finish(builder.Linear("logits", norm, weight, config_.vocab));
  }
  const int layer = unit - 1;
  UnitBuilder builder(*this, fmt::format("layers.{}", layer), layer);
  const ValueId x = builder.Input(UnitOutputName(unit - 1), hidden);
  const ValueId out = TRY(architecture_->build_layer(builder, x));
  return std::move(builder).Finish(out);
}

}  // namespace hexlane
