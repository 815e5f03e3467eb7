#!/usr/bin/env bash
# Functions of at most 60 lines, braces included, and files of at most 400. The format puts a
# function's braces, and no others, alone in the first column.
source "$(dirname "$0")/lib.sh"
out=$(files | grep '^src/.*\.[ch]$' | xargs -r awk '
  FNR == 1 { start = 0 }
  FNR == 401 { print FILENAME ": more than 400 lines" }
  /^\{/ { start = FNR; head = before }
  /^\}/ && start { if (FNR - start + 1 > 60) printf "%s:%d: function of %d lines: %s\n", FILENAME, start, FNR - start + 1, head; start = 0 }
  /^[A-Za-z_].*\(/ { before = $0 }')
[ -z "$out" ] || printf '%s\n' "$out"
verdict length "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "functions or files too long"
