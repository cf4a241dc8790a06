#!/usr/bin/env bash
# tools/fuzz.sh FOLDER [SECONDS [SEED]]: runs every libFuzzer target in FOLDER (build/asan/bin) for SECONDS (60), as many
# at a time as there are processors, from its seed corpus; at most ten minutes in all. Fails when one finds something;
# the input it found is left in build/fuzz/<target>/. SEED: of the mutations (another every time); CI gives one, so
# that what it finds is found again.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/env.sh

folder=$1
seconds=${2:-60}
seed=${3:-0}
mapfile -t targets < <(find "$folder" -maxdepth 1 -name '*_fuzz' -type f | sort)
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: no targets in $folder"; exit 0; }
most=$((600 * jobs / ${#targets[@]}))
[ "$seconds" -le $most ] || seconds=$most

# Adds what it learns to a scratch corpus, never to the seeds.
fuzz_one() {
  local target=$1 name seeds work
  name=$(basename "$target" _fuzz)
  work=$PWD/build/fuzz/$name
  mkdir -p "$work/corpus"
  seeds=$(find src -type d -path "*/corpus/$name" | head -n 1)
  [ -n "$seeds" ] || { echo "fuzz: $name has no seed corpus src/…/corpus/$name"; return 1; }
  if "$target" -max_total_time="$2" -seed="$3" -timeout=20 -rss_limit_mb=3000 -malloc_limit_mb=2000 -print_final_stats=1 \
    -artifact_prefix="$work/" "$work/corpus" "$seeds" >"$work/log" 2>&1; then
    echo "fuzz: $name $(sed -n 's/^stat::number_of_executed_units: */runs /p' "$work/log") in $2 s"
  else
    echo "fuzz: $name FAILED"
    tail -n 60 "$work/log"
    return 1
  fi
}
export -f fuzz_one

printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'fuzz_one "$1" "$2" "$3"' _ {} "$seconds" "$seed"
