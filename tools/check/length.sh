#!/usr/bin/env bash
# Files of at most 400 lines, functions of C and CUDA of at most 60, braces included, and lines of Python of at
# most 100 columns: clang-format sees to those of C. The format puts a function's braces, and no others, alone in
# the first column.
source "$(dirname "$0")/lib.sh"
out=$(files | grep -E '^(src|harness)/.*\.(c|h|cu|py|js)$' | xargs -r awk '
  FNR == 1 { start = 0; c = FILENAME ~ /\.(c|h|cu)$/ }
  FNR == 401 { print FILENAME ": more than 400 lines" }
  FILENAME ~ /\.py$/ && length($0) > 100 { printf "%s:%d: line of %d columns\n", FILENAME, FNR, length($0) }
  c && /^\{/ { start = FNR; head = before }
  c && /^\}/ && start { if (FNR - start + 1 > 60) printf "%s:%d: function of %d lines: %s\n", FILENAME, start, FNR - start + 1, head; start = 0 }
  c && /^[A-Za-z_].*\(/ { before = $0 }')
[ -z "$out" ] || printf '%s\n' "$out"
verdict length "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "functions or files too long"
