#!/usr/bin/env bash
# cppcheck on src/; what is suppressed, and why, is in cppcheck.txt beside this script. Without
# its POSIX library, which takes mmap(..., -1, 0) and unmapping a part for mistakes.
source "$(dirname "$0")/lib.sh"
out=$(files | grep '^src/.*\.c$' | xargs -r cppcheck -q -j2 --std=c11 \
  --enable=warning,performance,portability --inline-suppr -Isrc -D_GNU_SOURCE \
  --suppressions-list=tools/check/cppcheck.txt --template='{file}:{line}: {id}: {message}' 2>&1)
[ -z "$out" ] || printf '%s\n' "$out"
verdict cppcheck "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "findings"
