// The jobs of `hexlane convert --plan`, run by hand.
#ifndef HEXLANE_TESTS_E2E_PLAN_H_
#define HEXLANE_TESTS_E2E_PLAN_H_

#include <map>

#include "models.h"

namespace hexlane::e2e {

class PlanTest : public ScratchTest {
 protected:
  // convert MODEL, tiny, with `options`, to `output`.
  Arguments Convert(const std::string& model, const std::string& output,
                    const Arguments& options) const;
  // The jobs that the command's --plan gives.
  Json Plan(const Arguments& command) const;
};

// A job's command, which must succeed and leave its outputs.
void RunJob(const Json& job);
// SHA-256 of every file of a folder.
std::map<std::string, std::string> HashesOf(const fs::path& folder);

}  // namespace hexlane::e2e

#endif  // HEXLANE_TESTS_E2E_PLAN_H_
