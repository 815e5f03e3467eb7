#!/usr/bin/env bash
# clang-tidy on src/ with the checks of .clang-tidy, two files at a time.
source "$(dirname "$0")/lib.sh"
out=$(files | grep '^src/.*\.c$' | xargs -r -P2 -I{} sh -c \
  'clang-tidy --quiet {} -- -std=gnu17 -D_GNU_SOURCE -Isrc 2>/dev/null || true' |
  grep -E '(warning|error):' | sed "s|^$root/||" | sort -u)
[ -z "$out" ] || printf '%s\n' "$out"
verdict tidy "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "findings"
