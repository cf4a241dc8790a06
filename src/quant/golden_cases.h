// The cases of tests/data/quant/<file>.json.
#ifndef HEXLANE_QUANT_GOLDEN_CASES_H_
#define HEXLANE_QUANT_GOLDEN_CASES_H_

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace hexlane::golden {

struct Case {
  std::string name;
  std::vector<float> x;  // from the bit patterns: NaN and infinity included
  Json json;
};

inline std::vector<Case> Load(const std::string& file) {
  const std::string path = std::string(HEXLANE_TEST_DATA) + "/quant/" + file + ".json";
  const Result<std::string> text = ReadTextFile(path);
  if (!text) {
    ADD_FAILURE() << text.error().ToString();
    return {};
  }
  std::vector<Case> cases;
  const Json document = Json::parse(*text);
  for (const Json& json : document["cases"]) {
    Case test{json["name"], {}, json};
    for (const std::string bits : json["x_bits"])
      test.x.push_back(std::bit_cast<float>(static_cast<uint32_t>(std::stoul(bits, nullptr, 16))));
    cases.push_back(std::move(test));
  }
  return cases;
}

}  // namespace hexlane::golden

#endif  // HEXLANE_QUANT_GOLDEN_CASES_H_
