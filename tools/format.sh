#!/usr/bin/env bash
# tools/format.sh          formats every C++ file of the tree in place with clang-format 19
# tools/format.sh --check  only lists the files that differ; fails when there are any
set -euo pipefail
cd "$(dirname "$0")/.."

files() { git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }

if [ "${1:-}" != --check ]; then
  files | xargs -r clang-format-19 -i
  exit
fi
unformatted=$(files | xargs -r clang-format-19 --dry-run 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning.*/\1/p' | sort -u)
[ -z "$unformatted" ] || { echo "$unformatted"; echo "format: run tools/format.sh"; exit 1; }
echo "format: $(files | wc -l) files, 0 violations"
