// Counts the allocations of this program, to see that a generated token costs none.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/power/testing.h"
#include "runtime/testing.h"

namespace {
std::atomic<size_t> allocations = 0;

void* Allocate(size_t bytes) {
  ++allocations;
  if (void* block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes); }
void* operator new[](size_t bytes) { return Allocate(bytes); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }

namespace hexlane {
namespace {

constexpr int kTokens = 200;

// Allocations of one generation between its second token and its last. Without a tokenizer:
// decoding text allocates strings.
size_t AllocationsOf(GenerateOptions options, std::shared_ptr<PowerControl> power = nullptr) {
  testing::TempDir dir;
  Manifest manifest = testing::TinyManifest();
  manifest.plan.variants[0].stages = {{1, 256}, {4, 256}};
  auto writer = PackageWriter::Create(dir.path() / "p");
  EXPECT_TRUE(writer && writer->AddText("null/model.null", "") && writer->Finish(manifest));
  const auto engine = *Engine::Open(dir.path() / "p", {.backend = "null", .power = power});
  const auto session = *engine->NewSession();
  size_t first = 0, last = 0;
  options.ignore_eos = true;
  options.on_token = [&](const TokenEvent& token) {
    (token.index == 1 ? first : last) = allocations;
    return true;
  };
  const auto result = session->Generate(std::vector<int32_t>{3, 4, 5}, options);
  EXPECT_EQ(result->tokens.size(), static_cast<size_t>(options.max_tokens));
  return last - first;
}

TEST(Decode, AllocatesNothingPerToken) {
  EXPECT_EQ(AllocationsOf({.max_tokens = kTokens}), 0u);
  EXPECT_EQ(AllocationsOf({.max_tokens = kTokens, .stop = {"zzzz"}}), 0u);
  EXPECT_EQ(AllocationsOf({.max_tokens = kTokens,
                           .temperature = 1,
                           .top_k = 10,
                           .top_p = 0.9f,
                           .min_p = 0.01f,
                           .repetition_penalty = 1.1f}),
            0u);
}

TEST(Decode, AskingTheGovernorAllocatesNothing) {
  const auto phone = std::make_shared<testing::SimulatedPhone>(25, 45);
  const auto power = *PowerControl::Create({.thermometer = phone, .clock = phone});
  EXPECT_EQ(AllocationsOf({.max_tokens = kTokens}, power), 0u);
  EXPECT_GT(phone->Now(), (kTokens - 2) / 3.0);  // it did make it wait
}

}  // namespace
}  // namespace hexlane
