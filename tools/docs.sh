#!/usr/bin/env bash
# Regenerates the pages that are printed from tables in the code.
#   tools/docs.sh build/release/kgym [--check]
# --check writes nothing and fails if a page is out of date.
set -euo pipefail
kgym=$1
check=${2:-}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
{
  echo "# Configuration keys"
  echo
  echo "Printed by \`kgym options --markdown\` from the table that parses them; do not edit."
  echo "Precedence: defaults < preset < configuration file < environment < flags."
  echo
  "$kgym" options --markdown
} >"$out"
if [ "$check" = --check ]; then
  cmp -s "$out" docs/options.md || { echo "docs/options.md is out of date: run \`make docs\`" >&2; exit 1; }
else
  cp "$out" docs/options.md
  echo "docs: wrote docs/options.md"
fi
