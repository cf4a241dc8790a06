#!/usr/bin/env bash
# Builds everything and runs every test; quick the second time. Arguments go to ctest: ./test.sh -R Gguf
set -euo pipefail
cd "$(dirname "$0")"
tools/setup.sh test
. tools/env.sh

mkdir -p build
# HEXLANE_CMAKE_ARGS: more options for the configuration (CI adds -DHEXLANE_WERROR=ON).
# shellcheck disable=SC2086
cmake --preset release ${HEXLANE_CMAKE_ARGS:-} >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build --preset release -j "$jobs"
exec ctest --preset release -j "$jobs" "$@"
