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

# fresh FILE: FILE exists and is newer than the program and the model.
fresh() { [ "$1" -nt "$hexlane" ] && [ "$1" -nt "$model" ]; }

# once FILE COMMAND…: prints what COMMAND said, from FILE when that is fresh. A failed check is shown, not hidden.
once() {
  local file=$1 status=0
  shift
  if fresh "$file"; then
    cat "$file"
    echo "(from an earlier run)"
    return 0
  fi
  "$@" | tee "$file.tmp" || status=$?
  [ $status -gt 1 ] || mv "$file.tmp" "$file"
  return $status
}

convert() {
  local scheme=$1 package=build/demo/$1
  fresh "$package/manifest.json" ||
    once "build/demo/$scheme.convert.txt" "$hexlane" convert "$model" --soc $soc --scheme "$scheme" -o "$package"
  du -sh --apparent-size "$package" | sed 's/^/package: /'
}

title "Convert for $soc: w4-exact, the checkpoint's own 4-bit weights"
convert w4-exact

title "Verify: float, quantised, NPU graph on the emulator, CPU"
once build/demo/w4-exact.verify.txt "$hexlane" verify build/demo/w4-exact --model "$model"

title "Ask on the CPU: $question"
"$hexlane" run build/demo/w4-exact --backend cpu -p "$question" --chat --max-tokens 16 --stats

title "Ask on the emulated NPU (slow: the emulator is for checking, not for speed)"
"$hexlane" run build/demo/w4-exact --backend htp -p "$question" --chat --max-tokens 16 --stats

title "The other schemes beside it (w4a16 rounds a second time a checkpoint born in 4-bit blocks: expect a loss)"
for scheme in w8a16 w4a16; do
  convert $scheme
  once build/demo/$scheme.verify.txt "$hexlane" verify build/demo/$scheme --model "$model" ||
    echo "verify $scheme: see above"
done

title "Done"
echo "Next: $hexlane chat build/demo/w4-exact    $hexlane --help    docs/"
