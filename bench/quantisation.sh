#!/usr/bin/env bash
# What schemes and algorithms cost: a Markdown table of scheme × algorithm with perplexity (fake-quantised, and of the
# CPU package), KL divergence, bits per weight, time and peak memory of the conversion, on SmolLM2-135M-Instruct.
#   bench/quantisation.sh [--rows 'w4a16 gptq,w4a16 rtn'] [--keep FOLDER]
# --rows    only these (default: all of bench/quantisation.txt)
# --keep    packages and figures stay there, and rows that have figures there are not measured again
# Calibrates on data/calibration.txt, evaluates on tests/data/text/prose.txt, which calibration never sees. All rows
# take two to three hours on 2 cores. Needs ./demo.sh or ./test.sh to have set up and built.
set -euo pipefail
exec "$(dirname "$0")/quantisation.py" "$@"
