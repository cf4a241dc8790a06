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
     .shape = ".weight_shape",
     .zeros_optional = true},
};

class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string_view where)
      : json_(json), where_(fmt::format("{}: quantization_config", where)) {}

  Result<QuantisedFormat> Run() {
    const auto method = TRY(Text("quant_method", "gptq"));
    const auto row = std::ranges::find(kLayouts, method, &QuantisedLayout::method);
    if (row == std::end(kLayouts)) return UnknownMethod(method);
    QuantisedFormat format{.layout = row};
    if (method == "compressed-tensors") {
      TRY(CheckPackQuantised());
      return format;
    }
    format.bits = TRY(JsonField<int64_t>(json_, "bits", where_));
    format.group_size = TRY(JsonField<int64_t>(json_, "group_size", where_));
    if (method == "awq")
      TRY(CheckAwq(format.bits));
    else
      format.zero_bias = TRY(GptqZeroBias(format.bits));
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

  Failure UnknownVariant(std::string_view key, std::string_view got, std::string_view want) const {
    return Unsupported("{} '{}' is not handled", key, got)
        .At("{}", where_)
        .Want("{}", want)
        .Remedy("Save the model in that form with the tool that quantised it");
  }

  Result<void> CheckBits(int64_t bits, std::string_view want, bool good) const {
    if (good) return {};
    return Unsupported("weights of {} bits are not handled", bits)
        .At("{}: bits", where_)
        .Want("{}", want)
        .Remedy("Give the checkpoint that it was made from");
  }

  // The first format stores zero points less one; the second as they are.
  Result<int> GptqZeroBias(int64_t bits) const {
    TRY(CheckBits(bits, "4 or 8", bits == 4 || bits == 8));
    const std::string form = TRY(Text("checkpoint_format", "gptq"));
    if (form == "gptq") return 1;
    if (form == "gptq_v2") return 0;
    return UnknownVariant("checkpoint_format", form, "gptq or gptq_v2");
  }

  Result<void> CheckAwq(int64_t bits) const {
    TRY(CheckBits(bits, "4", bits == 4));
    const std::string version = TRY(Text("version", "gemm"));
    if (version == "gemm") return {};
    return UnknownVariant("version", version, "gemm");
  }

  Result<void> CheckPackQuantised() const {
    const std::string form = TRY(Text("format", "pack-quantized"));
    if (form != "pack-quantized") return UnknownVariant("format", form, "pack-quantized");
    const auto transforms = json_.find("transform_config");
    if (transforms == json_.end() || transforms->empty()) return {};
    return Unsupported("activations are transformed while the model runs (transform_config)")
        .At("{}", where_)
        .Want("weights alone quantised")
        .Remedy("Quantise without transforms, or give the checkpoint that it was made from");
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
