// Options of verbs that compare stages of a package.
#ifndef HEXLANE_CLI_SOURCE_OPTIONS_H_
#define HEXLANE_CLI_SOURCE_OPTIONS_H_

#include "verb.h"

namespace hexlane::cli {

inline constexpr const char* kPackageOrCheckpoint =
    "package; for the float stage also a checkpoint";

inline void AddSourceOptions(CLI::App& app, ModelSource& source, const std::string& what) {
  app.add_option("MODEL", source.path, what)->required();
  app.add_option("--checkpoint", source.checkpoint,
                 "checkpoint of the float stage (default: the package's source)");
  app.add_option("--soc", source.soc, "SoC of the htp stage (default: the package's first)");
}

inline void Complete(ModelSource& source, const Common& common) {
  source.vendor_library = common.qnn;
  source.threads = common.threads;
  source.progress = ProgressBar(common);
}

}  // namespace hexlane::cli

#endif  // HEXLANE_CLI_SOURCE_OPTIONS_H_
