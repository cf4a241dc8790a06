#!/usr/bin/env bash
# The main job on a real model: SmolLM2-135M-Instruct, a GGUF in 4-bit blocks, compiled for the Hexagon NPU of a
# Snapdragon 8 Gen 3, verified, and talking on this machine's CPU and on Qualcomm's own emulator of the NPU.
# The first run installs, builds, converts and verifies (at most 12 minutes); later runs reuse what is up to date.
#   ./demo.sh [QUESTION]
set -euo pipefail
cd "$(dirname "$0")"
question=${1:-"What is the capital of France?"}

title() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

title "Setup and build"
tools/setup.sh demo
. tools/env.sh
mkdir -p build/demo
cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build --preset release -j "$jobs" --target hexlane

hexlane=build/release/bin/hexlane
model=.assets/SmolLM2-135M-Instruct.Q4_1.gguf
soc=SM8650

# verify SCHEME: prints the comparison, from an earlier run when neither program nor package changed since. A failed
# check (exit 1) is shown, not hidden; anything worse ends the demo.
verify() {
  local scheme=$1 text=build/demo/$1.verify.txt status=0
  if [ "$text" -nt "$hexlane" ] && [ "$text" -nt "build/demo/$scheme/manifest.json" ]; then
    cat "$text"
    echo "(from an earlier run)"
    return
  fi
  "$hexlane" verify "build/demo/$scheme" --greedy 16 --question "$question" | tee "$text.tmp" || status=$?
  [ $status -le 1 ] || exit $status
  mv "$text.tmp" "$text"
}

convert() { "$hexlane" convert "$model" --quant "$1" --soc $soc --emulator -o "build/demo/$1"; }

ask() { "$hexlane" run build/demo/w4-exact --backend "$1" --chat -p "$question" -n 16 --temperature 0 --stats; }

title "Convert for $soc, w4-exact: the checkpoint's own 4-bit weights"
convert w4-exact

title "Verify: float, quantised, NPU graph on the emulator, its binary, CPU"
verify w4-exact

title "Ask on the CPU: $question"
ask cpu

title "Ask on the emulated NPU (the emulator checks values; its speed says nothing about a phone)"
ask htp

title "The other schemes (w4a16 rounds again what was born in asymmetric 4-bit blocks: expect a loss)"
for scheme in w8a16 w4a16; do
  convert $scheme
  verify $scheme
done

title "Done"
echo "Next: $hexlane chat build/demo/w4-exact"
