#!/usr/bin/env bash
# The headline: LLaMA-7B for the NPU on an ordinary machine. Makes a synthetic LLaMA-7B (13.5 GB, once), converts it and
# prints time, peak memory of all processes and sizes beside what others publish. Needs 35 GB of disk, and
# ./demo.sh or ./test.sh to have set up and built.
#   bench/llama7b.sh [--kill N [--seed S]] [MODEL [CONVERT OPTION ...]]
# --kill N   instead: kills the whole conversion at N random moments, resumes it each time, and compares every file with
#            those of a conversion that nobody disturbed
# MODEL      a checkpoint of your own, with options of `hexlane convert` (default: those of the headline)
# HEXLANE_BENCH_DIR: where everything is written (default build/llama7b).
set -euo pipefail
cd "$(dirname "$0")/.."
work=${HEXLANE_BENCH_DIR:-build/llama7b}
mode=()
while [ $# -gt 0 ]; do
  case $1 in
    --kill | --seed) mode+=("$1" "$2"); shift 2 ;;
    *) break ;;
  esac
done
mkdir -p "$work"
model=${1:-$work/llama-7b}
[ $# = 0 ] || shift
if [ ! -e "$model" ] && [ "$model" = "$work/llama-7b" ]; then
  build/release/bin/synthetic_checkpoint "$model"
fi
options=("$@")
[ $# -gt 0 ] || options=(--quant w4a16 --soc SM8650 --context 1024 --prefill-rows 128 --calibration-tokens 256 --memory 4GiB)
exec bench/llama7b.py --work "$work" ${mode[@]+"${mode[@]}"} "$model" -- "${options[@]}"
