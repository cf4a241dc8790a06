#!/usr/bin/env bash
# The main job on a real model: SmolLM2-135M-Instruct, a GGUF in 4-bit blocks, compiled for the Hexagon NPU of a
# Snapdragon 8 Gen 3, verified, and talking on this machine's CPU and on Qualcomm's own emulator of the NPU.
# The first run installs, builds, converts and verifies (at most 12 minutes on 2 cores); later runs reuse what is up
# to date (at most 3).
#   ./demo.sh [QUESTION]
set -euo pipefail
cd "$(dirname "$0")"
question=${1:-Give me three tips for staying healthy.}

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

convert() { "$hexlane" convert "$model" --quant "$1" --soc $soc -o "build/demo/$1" "${@:2}"; }

# verify SCHEME [OPTION…]: prints the comparison, from an earlier run when neither program nor package changed since. A
# failed check (exit 1) is shown, not hidden; anything worse ends the demo.
verify() {
  local scheme=$1 text=build/demo/$1.verify.txt status=0
  if [ "$text" -nt "$hexlane" ] && [ "$text" -nt "build/demo/$scheme/manifest.json" ]; then
    cat "$text"
    echo "(from an earlier run)"
    return
  fi
  "$hexlane" verify "build/demo/$scheme" "${@:2}" | tee "$text.tmp" || status=$?
  [ $status -le 1 ] || exit $status
  mv "$text.tmp" "$text"
}

# ask BACKEND TOKENS: the answer, also into build/demo/BACKEND.answer.txt, and its figures.
ask() {
  "$hexlane" run build/demo/w4-exact --backend "$1" --chat -p "$question" -n "$2" --temperature 0 --stats |
    tee "build/demo/$1.answer.txt"
}

# The NPU's short answer must be how the CPU's begins.
compare_answers() {
  local npu cpu
  npu=$(<build/demo/htp.answer.txt)
  cpu=$(<build/demo/cpu.answer.txt)
  case $cpu in
    "$npu"*) echo "CPU and emulated NPU agree: \"$npu…\"" ;;
    *) echo "CPU and emulated NPU differ: hexlane verify build/demo/w4-exact --greedy 16 says where and why" ;;
  esac
}

other_schemes() {
  for scheme in w8a16 w4a16; do
    convert $scheme
    verify $scheme --max-tokens 32
  done
}

# beside NAME COMMAND…: in the background, its output to build/demo/NAME.log: compiling for the NPU uses one processor only.
# result NAME: waits and shows it.
declare -A beside=()
beside() {
  set -m # a process group of its own, to end it as a whole
  "${@:2}" >"build/demo/$1.log" 2>&1 </dev/null &
  beside[$1]=$!
  set +m
}
result() {
  local status=0
  wait "${beside[$1]}" || status=$?
  cat "build/demo/$1.log"
  return $status
}
end_all() { for group in "${beside[@]}"; do kill -- "-$group" 2>/dev/null || true; done; }
trap end_all EXIT

# cosine SCHEME STAGE: of the logits, from the printed comparison.
cosine() { awk -v stage="$2" '$1 == stage {print $3}' "build/demo/$1.verify.txt"; }

beside others other_schemes

title "Convert for $soc, w4-exact: the checkpoint's own 4-bit weights"
convert w4-exact --emulator

beside npu ask htp 6

title "Verify: float, quantised, NPU graph on the emulator, its binary, CPU (a few minutes)"
verify w4-exact

title "Ask on the emulated NPU (it shows the values a phone computes; its speed says nothing about a phone)"
result npu

title "The other schemes (w4a16 rounds again what was born in asymmetric 4-bit blocks: expect a loss)"
result others

title "Ask on the CPU: $question"
ask cpu 48
compare_answers

title "Agreement of the logits (cosine) and size on disk"
printf '%-9s %15s %14s %14s %12s\n' scheme "quant to float" "NPU to quant" "CPU to quant" "NPU binary"
for scheme in w4-exact w8a16 w4a16; do
  printf '%-9s %15s %14s %14s %9d MB\n' $scheme "$(cosine $scheme quant)" "$(cosine $scheme htp)" \
    "$(cosine $scheme cpu)" $(($(cat build/demo/$scheme/htp/*.bin | wc -c) / 1000000))
done
if grep -q 'NO' build/demo/w4-exact.verify.txt; then
  echo "w4-exact failed its verification" >&2
  exit 1
fi
printf '\nDone in %d min %d s. Next: %s chat build/demo/w4-exact\n' $((SECONDS / 60)) $((SECONDS % 60)) "$hexlane"
