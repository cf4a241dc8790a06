#!/usr/bin/env bash
# Draws docs/heat.svg: an hour of conversations on a simulated phone, at 45 and 25 degrees around it (docs/power.md). The
# phone is a model and the clock simulated; the loop and the governor are the product's. Takes seconds.
#   bench/heat.sh [OUT.svg]
# Needs ./test.sh to have built.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-docs/heat.svg}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
HEXLANE_HEAT_TRACE=$work build/release/bin/runtime_test --gtest_brief=1 --gtest_filter='HeatTest.AnHour*'
python3 bench/heat.py "$work/45.tsv" "$work/25.tsv" "$out"
