#include "backends/qnn/driver/errors.h"

#include <gtest/gtest.h>

#include <set>

namespace hexlane::qnn {
namespace {

TEST(Errors, UnknownCodesAreShownInBothNotations) {
  EXPECT_EQ(Describe(0xabcde), "703710 (0xabcde), an error code that Hexlane does not know");
}

// As users report them: the codes of docs/lessons.md.
TEST(Errors, CodesThatUsersReportSayWhatTheyMeanAndWhatToDo) {
  for (const abi::Status code : {1002, 1009, 4000, 5000, 5005, 14001}) {
    const Result<void> failed = VendorFailure(code, "cannot load");
    EXPECT_EQ(failed.error().code, Code::kVendor);
    EXPECT_TRUE(failed.error().got.starts_with(fmt::format("{} (", code))) << failed.error().got;
    EXPECT_EQ(failed.error().got.find("Hexlane does not know"), std::string::npos)
        << failed.error().got;
    EXPECT_GT(failed.error().remedy.size(), 20u);
  }
}

TEST(Errors, EveryCodeHasOneMeaning) {
  std::set<abi::Status> codes;
#define QNN_ERROR(code, ...) EXPECT_TRUE(codes.insert(code).second) << code;
#include "backends/qnn/driver/errors.def"
#undef QNN_ERROR
}

}  // namespace
}  // namespace hexlane::qnn
