// For tests: the vendor library of .venv, and graphs fed with floats.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_TESTING_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_TESTING_H_

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "backends/qnn/driver/graph_builder.h"
#include "backends/qnn/driver/must.h"
#include "backends/qnn/driver/values.h"

namespace hexlane::qnn {

inline std::filesystem::path TestLibraryPath() {
  std::filesystem::current_path(std::filesystem::path(HEXLANE_TEST_DATA) / ".." / "..");
  auto path = FindLibrary();
  if (!path) {
    ADD_FAILURE() << "no vendor library: run tools/setup.sh. " << path.error().ToString();
    return {};
  }
  return *path;
}

inline std::shared_ptr<const Device> TestDevice(uint32_t soc = 57) {
  static auto library = MUST(Library::Open(TestLibraryPath()));
  return MUST(Device::Create(library, soc));
}

inline std::vector<float> Random(size_t count, float range, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-range, range);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(engine);
  return values;
}

// 10 log10(signal power / error power); 200 when equal.
inline double Snr(std::span<const float> want, std::span<const float> got) {
  if (want.size() != got.size()) return -1000;
  double signal = 0, noise = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    signal += double(want[i]) * want[i];
    noise += (double(got[i]) - want[i]) * (double(got[i]) - want[i]);
  }
  if (std::isnan(noise)) return -1000;
  return noise == 0 ? 200 : 10 * std::log10(signal / noise);
}

// Fixed-point spec of `bits` (8 or 16) that covers [-range, range], with the zero point in the
// middle.
inline TensorSpec Fixed(int bits, Shape shape, float range) {
  const int32_t half = 1 << (bits - 1);
  return {bits == 8 ? DataType::kUFixed8 : DataType::kUFixed16, shape,
          PerTensor{range / static_cast<float>(half - 1), -half}};
}
inline TensorSpec Half(Shape shape) { return {DataType::kF16, shape, {}}; }

// Runs a graph on floats, by input name; returns the outputs by name.
inline std::map<std::string, std::vector<float>> ExecuteOn(
    CompiledGraph& graph, const std::map<std::string, std::vector<float>>& inputs) {
  std::vector<std::vector<std::byte>> in, out;
  std::vector<std::span<const std::byte>> in_spans;
  std::vector<std::span<std::byte>> out_spans;
  for (const TensorInfo& info : graph.inputs())
    in.push_back(Encoded(info.spec, inputs.at(info.name)));
  for (const TensorInfo& info : graph.outputs()) out.emplace_back(info.spec.bytes());
  in_spans.assign(in.begin(), in.end());
  out_spans.assign(out.begin(), out.end());
  MUST(graph.Execute(in_spans, out_spans));
  std::map<std::string, std::vector<float>> results;
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorSpec& spec = graph.outputs()[i].spec;
    auto& floats = results[graph.outputs()[i].name];
    floats.resize(spec.shape.elements());
    DecodeValues(spec, out[i], floats);
  }
  return results;
}

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_TESTING_H_
