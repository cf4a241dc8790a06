#!/usr/bin/env bash
# SmolLM2-135M-Instruct exported to Genie: greedy tokens of Qualcomm's libGenie.so beside those of our own runtime, both
# on the HTP emulator, and the seconds a token takes. Needs ./demo.sh or ./test.sh to have set up and built.
#   bench/genie.sh [CONTEXT:PREFILL_ROWS ...]      default 256:32 512:128
#   TOKENS=32 PROMPT="Once upon a time, …" QUANT=w4a16
# Exits with 1 where tokens differ.
set -euo pipefail
cd "$(dirname "$0")/.."
hexlane=build/release/bin/hexlane
genie_run=build/release/bin/genie_run
model=.assets/SmolLM2-135M-Instruct.Q4_1.gguf
prompt=${PROMPT:-Once upon a time, in a small village by the sea, there lived}
tokens=${TOKENS:-32}
quant=${QUANT:-w4a16}
library=$(echo .venv/lib/python3*/site-packages/onnxruntime_qnn/libGenie.so)
work=$(mktemp -d)
ours=
trap '[ -z "$ours" ] || kill "$ours" 2>/dev/null; rm -rf "$work"' EXIT

failed=0
for shape in "${@:-256:32 512:128}"; do
  for one in $shape; do
    context=${one%:*} rows=${one#*:}
    package=$work/package-$context-$rows folder=$work/genie-$context-$rows
    $hexlane convert "$model" -o "$package" --quant "$quant" --kv 8 --soc SM8650 --emulator --context "$context" \
      --prefill-rows "$rows" >&2
    $hexlane export genie "$package" -o "$folder" --emulator >&2
    ids=$($hexlane tokenize "$package" -p "$prompt" --json |
      python3 -c 'import json, sys; print(",".join(map(str, json.load(sys.stdin)["ids"])))')
    $hexlane run "$package" --backend htp -p "$prompt" -n "$tokens" --json >"$work/ours.json" &
    ours=$!
    $genie_run "$folder" --library "$library" --ids "$ids" -n "$tokens" >"$work/genie.json" 2>"$work/genie.err" ||
      { cat "$work/genie.err" >&2; exit 1; }
    wait $ours
    ours=
    python3 - "$work" "$one" <<'PY' || failed=1
import json, sys
work, shape = sys.argv[1:]
ours, genie = (json.load(open(f"{work}/{name}.json")) for name in ("ours", "genie"))
same = ours["tokens"] == genie["tokens"]
print(f'context:rows {shape}\n  hexlane {ours["tokens"]}\n  genie   {genie["tokens"]}')
print(f'  text {ours["text"]!r}')
print(f'  {"equal" if same else "DIFFERENT"}, {len(ours["tokens"])} tokens; first token'
      f' {ours["stats"]["first_token_ms"] / 1000:.1f} s and {genie["seconds"][0]:.1f} s, then a token in'
      f' {1 / ours["stats"]["decode_tok_s"]:.1f} s and'
      f' {(genie["seconds"][-1] - genie["seconds"][0]) / max(1, len(genie["tokens"]) - 1):.1f} s')
sys.exit(not same)
PY
  done
done
exit $failed
