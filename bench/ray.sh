#!/usr/bin/env bash
# A conversion's jobs on a local Ray of two workers, beside the plain conversion: times, and SHA-256 of every file,
# which must be the same. Exits with 1 when they differ, or a job fails. Needs a release build; installs Ray (80 MB)
# into build/ray-venv once.
#   bench/ray.sh [MODEL OPTION …]     default: SmolLM2-135M, w8a16, for SM8550 and SM8650
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release/bin
venv=build/ray-venv
model=${1:-.assets/SmolLM2-135M-Instruct.Q4_1.gguf}
shift || true
[ $# -gt 0 ] || set -- --quant w8a16 --soc SM8550,SM8650 --calibration-tokens 256
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packages=$(awk '/^\[/ {on = $0 == "[ray]"; next} on && NF && !/^#/' tools/python-packages.txt)
if ! "$venv/bin/python" -c 'import ray' 2>/dev/null; then
  python3 -m venv "$venv"
  # shellcheck disable=SC2086
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps $packages
fi

hashes() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

start=$SECONDS
"$bin/hexlane" convert "$model" "$@" -o "$work/plain" >"$work/log"
echo "plain: $((SECONDS - start)) s"
start=$SECONDS
"$bin/hexlane" convert "$model" "$@" -o "$work/jobs" --plan "$work/jobs.json"
"$venv/bin/python" tools/ray_convert.py --workers 2 "$work/jobs.json"
echo "Ray, two workers: $((SECONDS - start)) s"
diff <(hashes "$work/plain") <(hashes "$work/jobs") || { echo "the packages differ"; exit 1; }
echo "the packages are the same: $(hashes "$work/jobs" | wc -l) files"
