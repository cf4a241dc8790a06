#!/usr/bin/env bash
# CPU speed beside llama.cpp (PyPI llama-cpp-python, built from source into a virtual environment under build/), the
# same model, threads, prompt and decode lengths, runs in turn; prints medians and ratios.
#   bench/cpu_speed.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
venv=build/llama-venv
if [ ! -e $venv/ready ]; then
  python3 -m venv $venv
  CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) $venv/bin/pip -q install numpy llama-cpp-python==0.3.36
  touch $venv/ready
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$(readlink -f .assets/SmolLM2-135M-Instruct.Q4_1.gguf)
for scheme in w4-exact w4a16 w8a16; do
  build/release/bin/hexlane convert "$model" --quant $scheme -o "$work/$scheme" >/dev/null
done
$venv/bin/python bench/cpu_speed.py "$model" "$work" "$rounds"
