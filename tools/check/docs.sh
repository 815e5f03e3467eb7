#!/usr/bin/env bash
# The printed pages are what the code and the kept measurements say now.
source "$(dirname "$0")/lib.sh"
kgym=${KGYM_BINARY:-build/release/kgym}
[ -n "${KGYM_BINARY:-}" ] || make --no-print-directory -s -j2 all >/dev/null || verdict docs 1 "build failed"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$(dirname "$0")/../docs.sh" "$kgym" "$fresh" || verdict docs 1 "page could not be printed"
stale=0
for page in "$fresh"/*; do
  cmp -s "$page" "docs/$(basename "$page")" && continue
  echo "docs/$(basename "$page"): out of date; run \`make docs\`"
  stale=$((stale + 1))
done
verdict docs "$stale" "pages out of date"
