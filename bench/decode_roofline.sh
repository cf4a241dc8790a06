#!/usr/bin/env bash
# How near decoding on the CPU comes to the memory's bandwidth: bytes that a token has to read times tokens a second,
# over what bench/bandwidth reads on the same threads, in turn with it; medians. Needs ./demo.sh or ./test.sh to have built.
#   bench/decode_roofline.sh [--rounds N] [--threads N] [--prompt N] [--decode N] PKG
set -euo pipefail
exec "$(dirname "$0")/decode_roofline.py" "$@"
