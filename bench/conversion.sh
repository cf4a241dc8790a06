#!/usr/bin/env bash
# Time and peak memory (all processes) of converting SmolLM2-135M-Instruct for SM8650, per scheme, with the size of
# its context binary beside. Needs ./demo.sh or ./test.sh to have set up and built.
#   bench/conversion.sh [SCHEME ...]
set -euo pipefail
cd "$(dirname "$0")/.."
hexlane=build/release/bin/hexlane
model=.assets/SmolLM2-135M-Instruct.Q4_1.gguf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for scheme in "${@:-w4a16 w4-exact w8a16 f16}"; do
  for one in $scheme; do
    printf '%s: ' "$one"
    bench/peak_memory.py "$hexlane" convert "$model" --quant "$one" --soc SM8650 --force -o "$work/$one" --json \
      >"$work/$one.json" 2>"$work/$one.err"
    tail -n 1 "$work/$one.err"
    python3 - "$work/$one.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
binary = sum(f["bytes"] for f in report["files"] if f["path"].startswith("htp/") and f["path"].endswith(".bin"))
ideal = report["parameters"] * report["bits_per_weight"] / 8
print(f'  context binary {binary / 1e6:.1f} MB = {binary / ideal:.3f} x (parameters x {report["bits_per_weight"]:.2f} bits);'
      f' {report["htp_bits_per_weight"]["SM8650"]:.2f} bits per weight in it')
PY
  done
done
