#include "formats/huggingface/quantised_layout.h"

#include <algorithm>
#include <cctype>

namespace hexlane {
namespace {

constexpr QuantisedLayout kLayouts[] = {
    {.method = "gptq",
     .integers = ".qweight",
     .zeros = ".qzeros",
     .scales = ".scales",
     .group_index = ".g_idx",
     .transposed = true},
    {.method = "awq",
     .integers = ".qweight",
     .zeros = ".qzeros",
     .scales = ".scales",
     .transposed = true,
     .packed_along_outputs = true,
     .order = {0, 4, 1, 5, 2, 6, 3, 7}},
    {.method = "compressed-tensors",
     .integers = ".weight_packed",
     .zeros = ".weight_zero_point",
     .scales = ".weight_scale",
     .group_index = ".weight_g_idx",
     .shape = ".weight_shape"},
};

Result<void> CheckBits(int64_t bits, std::string_view want, bool good, std::string_view where) {
  if (good) return {};
  return Unsupported("weights of {} bits are not handled", bits)
      .At("{}", where)
      .Want("{}", want)
      .Remedy("Give the checkpoint that it was made from");
}

Result<void> CheckGroupSize(int64_t size, std::string_view where) {
  if (size == -1 || size > 0) return {};
  return Corrupt("bad field 'group_size'")
      .At("{}", where)
      .Want("a number of columns, or -1 for one group a row")
      .Got("{}", size);
}

Failure UnknownVariant(std::string_view key, std::string_view got, std::string_view want,
                       std::string_view where) {
  return Unsupported("{} '{}' is not handled", key, got)
      .At("{}", where)
      .Want("{}", want)
      .Remedy("Save the model in that form with the tool that quantised it");
}

// The "weights" of one of compressed-tensors' config_groups.
class WeightsReader {
 public:
  WeightsReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Result<QuantisedForm> Run() const {
    const auto type = TRY(JsonFieldOr<std::string>(json_, "type", "int", where_));
    if (type != "int") return UnknownVariant("type", type, "int", where_);
    QuantisedForm form{.bits = TRY(JsonFieldOr<int64_t>(json_, "num_bits", 8, where_)),
                       .group_size = TRY(GroupSize())};
    TRY(CheckBits(form.bits, "4 or 8", form.bits == 4 || form.bits == 8, where_ + ": num_bits"));
    form.has_zeros = !TRY(JsonFieldOr<bool>(json_, "symmetric", true, where_));
    form.has_group_index = TRY(HasGroupIndex());
    return form;
  }

 private:
  // No size stands for -1 in "channel". Without a strategy the size tells it.
  Result<int64_t> GroupSize() const {
    const auto said = TRY(JsonFieldOr<int64_t>(json_, "group_size", -1, where_));
    const auto strategy =
        TRY(JsonFieldOr<std::string>(json_, "strategy", said == -1 ? "channel" : "group", where_));
    if (strategy != "group" && strategy != "channel")
      return UnknownVariant("strategy", strategy, "group or channel", where_);
    TRY(CheckGroupSize(said, where_));
    if ((strategy == "channel") == (said == -1)) return said;
    return Corrupt("the group_size is not one of strategy '{}'", strategy)
        .At("{}", where_)
        .Want("{}", strategy == "channel" ? "null or -1" : "a number of columns")
        .Got("{}", said);
  }

  // "weight" (or "static") orders columns while rounding only.
  Result<bool> HasGroupIndex() const {
    const auto order = json_.find("actorder");
    if (order != json_.end() && order->is_boolean()) return order->get<bool>();
    const auto name = TRY(JsonFieldOr<std::string>(json_, "actorder", "weight", where_));
    if (name == "group" || name == "dynamic") return true;
    if (name == "weight" || name == "static") return false;
    return UnknownVariant("actorder", name, "group or weight", where_);
  }

  const Json& json_;
  std::string where_;
};

class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string_view where)
      : json_(json), where_(fmt::format("{}: quantization_config", where)) {}

  Result<QuantisedFormat> Run() {
    const auto method = TRY(Text("quant_method", "gptq"));
    const auto row = std::ranges::find(kLayouts, method, &QuantisedLayout::method);
    if (row == std::end(kLayouts)) return UnknownMethod(method);
    QuantisedFormat format{.layout = row, .forms = {}};
    if (method == "compressed-tensors") {
      TRY(CheckPackQuantised());
      format.forms = TRY(ConfigGroups());
      return format;
    }
    QuantisedForm form{.bits = TRY(JsonField<int64_t>(json_, "bits", where_)),
                       .group_size = TRY(JsonField<int64_t>(json_, "group_size", where_))};
    TRY(CheckGroupSize(form.group_size, where_));
    if (method == "awq") {
      TRY(CheckAwq(form.bits));
    } else {
      format.zero_bias = TRY(GptqZeroBias(form.bits));
      form.has_group_index = TRY(JsonFieldOr<bool>(json_, "desc_act", false, where_));
    }
    format.forms = {form};
    return format;
  }

 private:
  Result<std::string> Text(std::string_view key, std::string_view fallback) const {
    std::string text = TRY(JsonFieldOr<std::string>(json_, key, std::string(fallback), where_));
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  }

  Failure UnknownMethod(std::string_view method) const {
    std::string known;
    for (const QuantisedLayout& layout : kLayouts)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", layout.method);
    return Unsupported("weights quantised by '{}' are not handled", method)
        .At("{}", where_)
        .Want("one of: {}", known)
        .Remedy("Give the checkpoint that it was made from, or a GGUF file of the model");
  }

  // The first format stores zero points less one; the second as they are.
  Result<int> GptqZeroBias(int64_t bits) const {
    TRY(CheckBits(bits, "4 or 8", bits == 4 || bits == 8, where_ + ": bits"));
    const std::string form = TRY(Text("checkpoint_format", "gptq"));
    if (form == "gptq") return 1;
    if (form == "gptq_v2") return 0;
    return UnknownVariant("checkpoint_format", form, "gptq or gptq_v2", where_);
  }

  Result<void> CheckAwq(int64_t bits) const {
    TRY(CheckBits(bits, "4", bits == 4, where_ + ": bits"));
    const std::string version = TRY(Text("version", "gemm"));
    if (version != "gemm") return UnknownVariant("version", version, "gemm", where_);
    if (TRY(JsonFieldOr<bool>(json_, "zero_point", true, where_))) return {};
    return UnknownVariant("zero_point", "false", "true: zero points are stored as qzeros", where_);
  }

  Result<void> CheckPackQuantised() const {
    const std::string form = TRY(Text("format", "pack-quantized"));
    if (form != "pack-quantized") return UnknownVariant("format", form, "pack-quantized", where_);
    const auto transforms = json_.find("transform_config");
    if (transforms == json_.end() || transforms->empty()) return {};
    return Unsupported("activations are transformed while the model runs (transform_config)")
        .At("{}", where_)
        .Want("weights alone quantised")
        .Remedy("Quantise without transforms, or give the checkpoint that it was made from");
  }

  // Of what has weights quantised.
  Result<std::vector<QuantisedForm>> ConfigGroups() const {
    std::vector<QuantisedForm> forms;
    const Json& groups = *TRY(JsonObject(json_, "config_groups", where_));
    for (const auto& [name, group] : groups.items()) {
      const std::string where = fmt::format("{}: config_groups['{}']", where_, name);
      if (!group.is_object()) return Corrupt("a group is no object").At("{}", where);
      const auto weights = group.find("weights");
      if (weights == group.end() || weights->is_null()) continue;
      TRY(JsonObject(group, "weights", where));
      forms.push_back(TRY(WeightsReader(*weights, where + ": weights").Run()));
    }
    return forms;
  }

  const Json& json_;
  std::string where_;
};

}  // namespace

Result<std::optional<QuantisedFormat>> ReadQuantisedFormat(const Json& config,
                                                           std::string_view where) {
  const auto it = config.find("quantization_config");
  if (it == config.end() || it->is_null()) return std::nullopt;
  if (!it->is_object())
    return Corrupt("bad field 'quantization_config'").At("{}", where).Want("an object");
  return TRY(ConfigReader(*it, where).Run());
}

std::string_view IntegersSuffix(std::string_view name) {
  for (const QuantisedLayout& layout : kLayouts)
    if (name.ends_with(layout.integers)) return layout.integers;
  return "";
}

}  // namespace hexlane
