// run_stages PACKAGE VARIANT OUTPUT [MAX_ROWS]: RunStages as a program, for bench/ort.sh.
#include <cstdio>
#include <cstdlib>

#include "backends/qnn/driver/library.h"
#include "run_stages.h"

int main(int argc, char** argv) {
  using hexlane::e2e::RunStagesOptions;
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: run_stages PACKAGE VARIANT OUTPUT [MAX_ROWS]\n");
    return 2;
  }
  RunStagesOptions options{.package = argv[1], .variant = argv[2]};
  if (argc == 5) options.max_rows = std::atoi(argv[4]);
  const auto library = hexlane::qnn::FindLibrary();
  if (library) options.library = *library;
  const auto done = library ? hexlane::e2e::RunStages(options, argv[3])
                            : hexlane::Result<void>(tl::unexpect, library.error());
  if (done) return 0;
  std::fprintf(stderr, "run_stages: %s\n", done.error().ToString().c_str());
  return 4;
}
