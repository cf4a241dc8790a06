#include "quant/algorithm/gptq.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/thread_pool.h"

namespace hexlane {
namespace {

struct Case {
  std::string name;
  int64_t n, k, rows;
  std::vector<float> x, w, scales;
  std::vector<int> q;
  double error;
  bool four_bits;
};

// Made by tests/data/quant/make_gptq.py from the method's definition.
std::vector<Case> Cases() {
  const Json document =
      Json::parse(*ReadTextFile(std::string(HEXLANE_TEST_DATA) + "/quant/gptq.json"));
  std::vector<Case> cases;
  for (const Json& json : document["cases"])
    cases.push_back({json["name"], json["n"], json["k"], json["rows"], json["x"], json["w"],
                     json["scale"], json["q"], json["error"], json["low"] == -8});
  return cases;
}

Moments MomentsOf(const Case& test, ThreadPool* pool = nullptr) {
  Moments moments;
  const int64_t half = test.rows / 2;  // in two windows
  moments.Add({test.x.data(), half, test.k}, pool);
  moments.Add({test.x.data() + half * test.k, test.rows - half, test.k}, pool);
  return moments;
}

// The case's scales; 4 bits as q - 8 with a minimum.
QuantizedMatrix Scaled(const Case& test) {
  const Scheme scheme = test.four_bits ? Scheme::kW4Affine32 : Scheme::kW8Block32;
  QuantizedMatrix m = QuantizedMatrix::Zero(scheme, test.n, test.k);
  m.scales = test.scales;
  for (size_t i = 0; i < m.mins.size(); ++i) m.mins[i] = -8 * m.scales[i];
  return m;
}

TEST(Gptq, GivesTheIntegersOfTheDefinition) {
  const std::vector<Case> cases = Cases();
  EXPECT_EQ(cases.size(), 3u);
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const Result<Gptq> gptq = Gptq::Create(MomentsOf(test));
    ASSERT_TRUE(gptq);
    QuantizedMatrix m = Scaled(test);
    gptq->Round({test.w, test.n, test.k, "w"}, m);
    std::vector<int> q(m.q.begin(), m.q.end());
    if (test.four_bits)
      for (int& level : q) level -= 8;
    EXPECT_EQ(q, test.q);
  }
}

TEST(Gptq, TheOutputErrorIsTheDefinitions) {
  for (const Case& test : Cases()) {
    const Result<Gptq> gptq = Gptq::Create(MomentsOf(test));
    ASSERT_TRUE(gptq);
    QuantizedMatrix m = Scaled(test);
    gptq->Round({test.w, test.n, test.k, "w"}, m);
    double sum = 0;
    std::vector<float> row(static_cast<size_t>(test.k));
    for (int64_t n = 0; n < test.n; ++n) {
      m.DequantizeRow(n, row.data());
      for (int64_t r = 0; r < test.rows; ++r) {
        double off = 0;
        for (int64_t i = 0; i < test.k; ++i)
          off += (static_cast<double>(row[i]) - test.w[n * test.k + i]) * test.x[r * test.k + i];
        sum += off * off;
      }
    }
    EXPECT_NEAR(sum, test.error, 1e-3 * test.error) << test.name;
  }
}

TEST(Gptq, ThreadsDoNotChangeMoments) {
  const Case test = Cases()[2];
  ThreadPool pool(3);
  const Moments alone = MomentsOf(test), together = MomentsOf(test, &pool);
  EXPECT_TRUE(std::ranges::equal(alone.sum(), together.sum()));
  EXPECT_EQ(alone.rows(), test.rows);
}

TEST(Gptq, InputsThatAreAllZeroAreRoundedToNearest) {
  Moments moments;
  const std::vector<float> x(3 * 32);
  moments.Add({x.data(), 3, 32}, nullptr);
  std::vector<float> row(32, 0.26f);
  QuantizedMatrix m = QuantizedMatrix::Zero(Scheme::kW8Block32, 1, 32);
  m.scales = {0.1f};
  const Result<Gptq> gptq = Gptq::Create(moments);
  ASSERT_TRUE(gptq);
  gptq->Round({row, 1, 32, "w"}, m);
  EXPECT_EQ(m.q, std::vector<int8_t>(32, 3));
}

}  // namespace
}  // namespace hexlane
