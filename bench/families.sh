#!/usr/bin/env bash
# Schemes and algorithms on other families of models: the signal-to-noise ratio (dB) of each layer's output, fake-quantised
# against float, on the tests' checkpoints with random weights.
#   bench/families.sh [CHECKPOINT ...]    folders of tests/data/checkpoints; default: qwen2 qwen3
# A minute on 2 cores. Needs ./test.sh to have built.
set -euo pipefail
exec "$(dirname "$0")/families.py" "$@"
