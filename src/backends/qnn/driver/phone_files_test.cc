#include "backends/qnn/driver/phone_files.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/temp_dir.h"

namespace hexlane::qnn {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PhoneFiles : public ::testing::Test {
 protected:
  void Add(const std::string& name) { std::ofstream(dir_.path() / name) << "x"; }
  testing::TempDir dir_;
};

TEST_F(PhoneFiles, EveryStubIsACandidateTheLatestFirst) {
  for (const char* name :
       {"libQnnHtpV68Stub.so", "libQnnHtpV81Stub.so", "libQnnHtpV75Stub.so", "libQnnHtpV75Skel.so",
        "libQnnHtpVStub.so", "libQnnHtpV7xStub.so", "libQnnHtpV73Stub.so.bak", "libQnnHtp.so"})
    Add(name);
  EXPECT_THAT(StubsIn(dir_.path()), ElementsAre(81, 75, 68));
  EXPECT_THAT(StubsIn(dir_.path() / "absent"), IsEmpty());
}

TEST_F(PhoneFiles, ThePhonesGenerationIsTriedFirstThenEarlierThenLater) {
  EXPECT_THAT(ArchOrder({81, 79, 75, 73, 68}, 75), ElementsAre(75, 73, 68, 79, 81));
  EXPECT_THAT(ArchOrder({81, 73}, 75), ElementsAre(73, 81));
  EXPECT_THAT(ArchOrder({73, 81}, 0), ElementsAre(81, 73));
}

TEST_F(PhoneFiles, AMissingStubIsNamedWithThosePresent) {
  EXPECT_TRUE(CheckStub(dir_.path(), 79));  // the system's may serve
  Add("libQnnHtpV75Stub.so");
  Add("libQnnHtpV73Stub.so");
  EXPECT_TRUE(CheckStub(dir_.path(), 75));
  EXPECT_TRUE(CheckStub(dir_.path(), 0));
  const auto missing = CheckStub(dir_.path(), 79);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kEnvironment);
  EXPECT_THAT(missing.error().ToString(), HasSubstr("libQnnHtpV79Stub.so"));
  EXPECT_THAT(missing.error().ToString(), HasSubstr("stubs of V75, V73"));
}

TEST_F(PhoneFiles, SkelsAreSoughtInTheAppsFolderFirstAndSeparatedBySemicolons) {
  EXPECT_THAT(SkelSearchPath("/data/app/skels", "/data/app/lib"),
              ::testing::StartsWith("/data/app/skels;/data/app/lib;/vendor/"));
  EXPECT_THAT(SkelSearchPath("", "/data/app/lib"), ::testing::StartsWith("/data/app/lib;/vendor"));
  EXPECT_THAT(SkelSearchPath("", ""), ::testing::Not(HasSubstr(":")));
}

TEST_F(PhoneFiles, WhatTheUserHasSetStays) {
  ::unsetenv("ADSP_LIBRARY_PATH");
  SetSkelSearchPath("/a", "/lib");
  EXPECT_EQ(std::getenv("ADSP_LIBRARY_PATH"), SkelSearchPath("/a", "/lib"));
  SetSkelSearchPath("/b", "/lib");  // ours gives way
  EXPECT_EQ(std::getenv("ADSP_LIBRARY_PATH"), SkelSearchPath("/b", "/lib"));
  ::setenv("ADSP_LIBRARY_PATH", "/mine", 1);
  SetSkelSearchPath("/c", "/lib");
  EXPECT_STREQ(std::getenv("ADSP_LIBRARY_PATH"), "/mine");
  ::unsetenv("ADSP_LIBRARY_PATH");
}

}  // namespace
}  // namespace hexlane::qnn
