// Token ids in the files that other tools write: .npy arrays and raw tensors.
#ifndef HEXLANE_COMPILER_CALIBRATION_ID_ROWS_H_
#define HEXLANE_COMPILER_CALIBRATION_ID_ROWS_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "hexlane/status.h"

namespace hexlane {

using IdRows = std::vector<std::vector<int64_t>>;  // not checked against a vocabulary

// A little-endian int32 or int64 array of NumPy's format 1.0 to 3.0, in C order: [tokens] gives one
// row, [rows, tokens] each of its rows. kInvalidInput for another type, order or number of
// dimensions, kCorrupt for what is not such a file.
Result<IdRows> ReadNpyIds(const std::filesystem::path& path);

// A raw little-endian tensor without a header, one row. int64 where the size allows it and every
// number is below 2^32, int32 otherwise: ids as int32 have no zero after each of them.
Result<IdRows> ReadRawIds(const std::filesystem::path& path);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_CALIBRATION_ID_ROWS_H_
