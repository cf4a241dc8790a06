// What hexlane_generate and streams share.
#ifndef HEXLANE_C_API_GENERATE_H_
#define HEXLANE_C_API_GENERATE_H_

#include "c_api/handles.h"

namespace hexlane::c_api {

// Without callbacks.
Result<GenerateOptions> ToOptions(const hexlane_generate_options& options);

// kUsage where `ids` is null and `count` is not 0.
Result<std::span<const int32_t>> Prompt(const int32_t* ids, size_t count);

}  // namespace hexlane::c_api

#endif  // HEXLANE_C_API_GENERATE_H_
