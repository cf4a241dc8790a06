#!/usr/bin/env bash
# Before a commit: format, layers, sizes, docs, and the unit tests (under 60 s once built).
#   tools/presubmit.sh             everything
#   tools/presubmit.sh --checks    without building and testing
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/env.sh

failed=0
tools/format.sh --check || failed=1
tools/check_layers.py || failed=1
.venv/bin/python tools/check_sizes.py || failed=1
tools/check_docs.py || failed=1
[ $failed = 0 ] || { echo "presubmit: checks failed"; exit 1; }
[ "${1:-}" != --checks ] || exit 0

cmake --preset release >/dev/null
cmake --build --preset release -j "$jobs"
timeout 60 ctest --preset unit -j "$jobs"
