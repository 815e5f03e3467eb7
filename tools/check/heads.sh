#!/usr/bin/env bash
# A source file of more than 60 lines opens with a comment (Python: a docstring) that says what the
# file does. Only a script's `#!` line may stand before it.
source "$(dirname "$0")/lib.sh"
bad=0
while IFS= read -r f; do
  [ "$(wc -l <"$f")" -gt 60 ] || continue
  first=$(grep -m1 -v -e '^#!' -e '^[[:space:]]*$' "$f")
  case $f:$first in
    *.py:\"\"\"* | *.py:\#*) ;;
    *.c:/\** | *.cu:/\** | *.js:/\** | *.c://* | *.cu://* | *.js://*) ;;
    *) echo "$f: does not open with a comment that says what the file does"; bad=$((bad + 1)) ;;
  esac
done < <(files | grep -E '^(src|harness)/.*\.(c|cu|py|js)$')
verdict heads "$bad" "files without an opening comment"
