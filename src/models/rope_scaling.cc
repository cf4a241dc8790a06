#include "models/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hexlane {
namespace {

// Largest size of a head; models have up to 576.
constexpr int64_t kMaxHeadDim = 1 << 16;

std::vector<double> Frequencies(double theta, int64_t dim) {
  std::vector<double> freq;
  for (int64_t i = 0; i < dim; i += 2)
    freq.push_back(std::pow(theta, -static_cast<double>(i) / static_cast<double>(dim)));
  return freq;
}

std::vector<float> ToFloats(const std::vector<double>& values) {
  return std::vector<float>(values.begin(), values.end());
}

Result<double> Positive(const Json& parameters, std::string_view key, const std::string& where) {
  const double value = TRY(JsonField<double>(parameters, key, where));
  if (value <= 0) return InvalidInput("'{}' is {}", key, value).At("{}", where).Want("above 0");
  return value;
}

// Position interpolation: every frequency divided by the factor. Chen et al. 2023.
Result<RopeFrequencies> Linear(const Json& parameters, std::vector<double> freq,
                               const std::string& where) {
  const double factor = TRY(Positive(parameters, "factor", where));
  for (double& f : freq) f /= factor;
  return RopeFrequencies{ToFloats(freq)};
}

// Llama 3.1: wavelengths past original/low are divided by the factor, those under original/high are
// kept, the ones between are blended linearly in original/wavelength.
Result<RopeFrequencies> Llama3(const Json& parameters, std::vector<double> freq,
                               const std::string& where) {
  const double factor = TRY(Positive(parameters, "factor", where));
  const double low = TRY(Positive(parameters, "low_freq_factor", where));
  const double high = TRY(Positive(parameters, "high_freq_factor", where));
  const double original = TRY(Positive(parameters, "original_max_position_embeddings", where));
  if (high <= low)
    return InvalidInput("high_freq_factor {} is not above low_freq_factor {}", high, low)
        .At("{}", where);
  for (double& f : freq) {
    const double turns = original * f / (2 * std::numbers::pi);
    const double keep = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    f = keep * f + (1 - keep) * f / factor;
  }
  return RopeFrequencies{ToFloats(freq)};
}

struct YarnRamp {
  double low, high;
};

// Dimension (in pairs, fractional) that turns `rotations` times within `original` positions.
double YarnDimension(double rotations, double theta, double dim, double original) {
  return dim * std::log(original / (rotations * 2 * std::numbers::pi)) / (2 * std::log(theta));
}

// YaRN: interpolate slow dimensions, keep fast ones, a ramp between; attention factor 0.1 ln s + 1.
// Peng et al. 2023.
Result<RopeFrequencies> Yarn(const Json& parameters, std::vector<double> freq, double theta,
                             int64_t max_positions, const std::string& where) {
  const double factor = TRY(Positive(parameters, "factor", where));
  const double original = TRY(JsonFieldOr<double>(parameters, "original_max_position_embeddings",
                                                  static_cast<double>(max_positions), where));
  const double beta_fast = TRY(JsonFieldOr<double>(parameters, "beta_fast", 32.0, where));
  const double beta_slow = TRY(JsonFieldOr<double>(parameters, "beta_slow", 1.0, where));
  const bool truncate = TRY(JsonFieldOr<bool>(parameters, "truncate", true, where));
  const double attention = TRY(JsonFieldOr<double>(
      parameters, "attention_factor", factor <= 1 ? 1.0 : 0.1 * std::log(factor) + 1, where));
  const double dim = 2.0 * static_cast<double>(freq.size());
  YarnRamp ramp{YarnDimension(beta_fast, theta, dim, original),
                YarnDimension(beta_slow, theta, dim, original)};
  if (truncate) ramp = {std::floor(ramp.low), std::ceil(ramp.high)};
  ramp = {std::max(ramp.low, 0.0), std::min(ramp.high, dim - 1)};
  const double width = ramp.high == ramp.low ? 0.001 : ramp.high - ramp.low;
  for (size_t i = 0; i < freq.size(); ++i) {
    const double slow = std::clamp((static_cast<double>(i) - ramp.low) / width, 0.0, 1.0);
    freq[i] = freq[i] / factor * slow + freq[i] * (1 - slow);
  }
  return RopeFrequencies{ToFloats(freq), static_cast<float>(attention)};
}

}  // namespace

std::vector<float> PlainInverseFrequencies(double theta, int64_t rotary_dim) {
  return ToFloats(Frequencies(theta, rotary_dim));
}

Result<RopeFrequencies> ScaledFrequencies(const Json& parameters, double theta, int64_t rotary_dim,
                                          int64_t max_positions, const std::string& where) {
  if (!(theta > 0) || !std::isfinite(theta))
    return InvalidInput("a rope theta of {}", theta).At("{}", where).Want("a number above 0");
  if (rotary_dim < 2 || rotary_dim > kMaxHeadDim || rotary_dim % 2 != 0) {
    return InvalidInput("{} rotary dimensions of a head", rotary_dim)
        .At("{}", where)
        .Want("an even number from 2 to {}", kMaxHeadDim);
  }
  std::vector<double> freq = Frequencies(theta, rotary_dim);
  if (parameters.is_null()) return RopeFrequencies{ToFloats(freq)};
  if (!parameters.is_object())
    return Corrupt("the rope scaling is not an object")
        .At("{}", where)
        .Want("an object with a type")
        .Got("{}", parameters.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 80));
  std::string type = TRY(JsonFieldOr<std::string>(parameters, "rope_type", "", where));
  if (type.empty()) type = TRY(JsonFieldOr<std::string>(parameters, "type", "default", where));
  if (type == "default") return RopeFrequencies{ToFloats(freq)};
  if (type == "linear") return Linear(parameters, std::move(freq), where);
  if (type == "llama3") return Llama3(parameters, std::move(freq), where);
  if (type == "yarn") return Yarn(parameters, std::move(freq), theta, max_positions, where);
  return Unsupported("rope scaling '{}'", type)
      .At("{}", where)
      .Want("default, linear, llama3 or yarn");
}

}  // namespace hexlane
