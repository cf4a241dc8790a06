#include "compiler/calibration/id_rows.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;

// Made by make_ids.py in the same folder.
fs::path Data(std::string_view name) { return fs::path(HEXLANE_TEST_DATA) / "calibration" / name; }
const std::vector<int64_t> kHello = {72, 101, 108, 108, 111};
const std::vector<int64_t> kBackwards = {111, 108, 108, 101, 72};

fs::path Written(std::string_view name, std::string_view bytes) {
  const fs::path path = fs::path(testing::TempDir()) / name;
  EXPECT_TRUE(WriteFileAtomically(path, bytes));
  return path;
}

TEST(IdRows, ReadsArraysOfBothTypesAndShapes) {
  EXPECT_EQ(*ReadNpyIds(Data("row_i4.npy")), IdRows{kHello});
  EXPECT_EQ(*ReadNpyIds(Data("rows_i8.npy")), (IdRows{kHello, kBackwards}));
  EXPECT_EQ(*ReadNpyIds(Data("version2.npy")), IdRows{kHello});
}

TEST(IdRows, RefusesOtherArraysByTheirHeader) {
  for (const char* name : {"floats.npy", "fortran.npy", "cube.npy"}) {
    const Result<IdRows> rows = ReadNpyIds(Data(name));
    ASSERT_FALSE(rows) << name;
    EXPECT_EQ(rows.error().code, Code::kInvalidInput);
    EXPECT_NE(rows.error().where.find(name), std::string::npos);
    EXPECT_NE(rows.error().got.find("'descr':"), std::string::npos) << rows.error().got;
  }
}

TEST(IdRows, ADamagedArrayIsCorruptWhereverItIsCut) {
  const std::string good = *ReadTextFile(Data("rows_i8.npy"));
  for (size_t size = 0; size < good.size(); ++size) {
    const Result<IdRows> rows = ReadNpyIds(Written("cut.npy", good.substr(0, size)));
    ASSERT_FALSE(rows) << size;
    EXPECT_EQ(rows.error().code, Code::kCorrupt) << size;
  }
}

TEST(IdRows, AHugeShapeIsNoReasonToAllocate) {
  std::string bad = *ReadTextFile(Data("rows_i8.npy"));
  const size_t at = bad.find("(2, 5)");
  bad.replace(at, 6, "(9223372036854775807, 9223372036854775807)").erase(at + 60, 36);
  const Result<IdRows> rows = ReadNpyIds(Written("huge.npy", bad));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Code::kCorrupt) << rows.error().ToString();
}

TEST(IdRows, TellsTheWidthOfRawTensors) {
  EXPECT_EQ(*ReadRawIds(Data("ids_i4.raw")), IdRows{kHello});
  EXPECT_EQ(*ReadRawIds(Data("even_i4.raw")), (IdRows{{72, 101, 108, 108}}));
  EXPECT_EQ(*ReadRawIds(Data("ids_i8.raw")), IdRows{kHello});
}

TEST(IdRows, RefusesRawTensorsThatAreNoNumbers) {
  for (const char* bytes : {"", "abc"}) {
    const Result<IdRows> rows = ReadRawIds(Written("bad.raw", bytes));
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code, Code::kInvalidInput);
  }
  EXPECT_EQ(ReadRawIds("/nowhere.raw").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace hexlane
