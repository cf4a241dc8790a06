#!/usr/bin/env bash
# SmolLM2-135M-Instruct, exported to ONNX Runtime and run there on the HTP emulator: every output of every stage
# compared bit for bit with Hexlane's own executor. Needs ./test.sh to have set up and built; takes a few minutes.
#   bench/ort.sh [MAX_ROWS]     1: the decode stage alone
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/hexlane" convert .assets/SmolLM2-135M-Instruct.Q4_1.gguf --quant w8a16 --kv 8 --soc SM8650 --emulator \
  --context 256 -o "$work/package"
"$bin/hexlane" export ort "$work/package" --emulator -o "$work/export"
"$bin/run_stages" "$work/package" SM8650-emulator "$work/stages" "${1:-128}" >"$work/log"
.venv/bin/python tests/e2e/run_ort.py "$work/export" "$work/stages" 2>"$work/err" || { cat "$work/err"; exit 1; }
