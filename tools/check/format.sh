#!/usr/bin/env bash
# Every C file is as clang-format would leave it. Problems and what plays a model's reply are not
# ours to format.
source "$(dirname "$0")/lib.sh"
bad=0
while IFS= read -r f; do
  if ! clang-format --dry-run -Werror "$f" >/dev/null 2>&1; then
    echo "$f: not formatted (make format)"
    bad=$((bad + 1))
  fi
done < <(files | grep '\.[ch]$' | grep -v -E '^(tests/(hostile|honest|fixtures)|problems|demo|fuzz/corpus)/')
verdict format "$bad" "files not formatted"
