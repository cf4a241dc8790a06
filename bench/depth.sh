#!/usr/bin/env bash
# Whether calibration's memory depends on the number of layers: converts SmolLM2's shapes with 15 and 30 layers, weights made
# up, and prints the peak of both (a conversion is one process) and their ratio.
#   bench/depth.sh [--tokens N] [--algorithm NAME]
# Takes about ten minutes on 2 cores. Needs ./test.sh to have built.
set -euo pipefail
cd "$(dirname "$0")/.."
tokens=16384 algorithm=search+gptq
while (($#)); do
  case $1 in
    --tokens) tokens=$2 ;;
    --algorithm) algorithm=$2 ;;
    *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
  esac
  shift 2
done
work=$(mktemp -d -p "${HEXLANE_BENCH_DIR:-/tmp}")
trap 'rm -rf "$work"' EXIT
for layers in 15 30; do
  build/release/bin/synthetic_checkpoint "$work/model" --layers $layers --hidden 576 --ffn 1536 --heads 9 --kv-heads 3 \
    --vocab 49152 --max-context 2048 --tied >/dev/null
  build/release/bin/hexlane convert "$work/model" --quant w4a16 --algorithm "$algorithm" --calibration data/calibration.txt \
    --calibration-tokens "$tokens" -o "$work/package" --json >"$work/$layers.json"
  rm -rf "$work/model" "$work/package"
done
python3 - "$work" <<'P'
import json, sys
few, many = (json.load(open(f"{sys.argv[1]}/{layers}.json")) for layers in (15, 30))
for layers, report in ((15, few), (30, many)):
    print(f"{layers} layers: {report['seconds']:.0f} s, peak {report['peak_rss_bytes'] / 2**20:.0f} MiB")
print(f"ratio {many['peak_rss_bytes'] / few['peak_rss_bytes']:.3f}")
P
