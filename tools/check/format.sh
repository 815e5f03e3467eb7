#!/usr/bin/env bash
# Every C file is as clang-format would leave it. Problems and what plays a model's reply are not
# ours to format. Many files at a time, since starting the program takes longer than reading a file; those of
# a group that fails one by one, for their names.
source "$(dirname "$0")/lib.sh"
out=$(files | grep '\.[ch]$' | grep -v -E '^(tests/(hostile|honest|fixtures)|problems|demo|fuzz/corpus)/' |
  xargs -r -P2 -n 32 bash -c 'formatted() { clang-format --dry-run -Werror "$@" >/dev/null 2>&1; }
    formatted "$@" || for f; do formatted "$f" || printf "%s: not formatted (make format)\n" "$f"; done' group) ||
  out+=${out:+$'\n'}"clang-format was not run on all files"
[ -z "$out" ] || printf '%s\n' "$out"
verdict format "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "files not formatted"
