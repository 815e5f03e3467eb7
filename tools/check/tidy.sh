#!/usr/bin/env bash
# clang-tidy on src/ with the checks of .clang-tidy, two files at a time. What it said of a file is
# kept below build/check/tidy/ under the hash of everything that it read, so that a second run looks
# only at what changed.
source "$(dirname "$0")/lib.sh"
export flags="-std=gnu17 -D_GNU_SOURCE -Isrc -Wno-ignored-attributes" kept=build/check/tidy
mkdir -p "$kept"
one() {
  key=$( (cat .clang-tidy; clang -E -C $flags "$1" 2>&1) | sha256sum | cut -c1-40)
  if [ ! -f "$kept/$key" ]; then
    clang-tidy --quiet "$1" -- $flags 2>/dev/null | grep -E '(warning|error):' >"$kept/$key.$$"
    mv "$kept/$key.$$" "$kept/$key"
  fi
  cat "$kept/$key"
}
export -f one
out=$(files | grep '^src/.*\.c$' | xargs -r -P2 -I{} bash -c 'one {}' | sed "s|^$root/||" | sort -u)
[ -z "$out" ] || printf '%s\n' "$out"
verdict tidy "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "findings"
