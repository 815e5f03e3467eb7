#!/usr/bin/env bash
# A source file of more than 60 lines opens with a comment (Python: a docstring) that says what the
# file does. Only a script's `#!` line may stand before it.
source "$(dirname "$0")/lib.sh"
out=$(files | grep -E '^(src|harness)/.*\.(c|cu|py|js)$' | xargs -r awk '
  function judge() {
    if (lines > 60 && !(path ~ /\.py$/ ? first ~ /^("""|#)/ : first ~ /^(\/\*|\/\/)/))
      print path ": does not open with a comment that says what the file does"
  }
  FNR == 1 { judge(); path = FILENAME; first = "" }
  { lines = FNR }
  first == "" && !/^#!/ && !/^[ \t\r\f\v]*$/ { first = $0 }
  END { judge() }')
[ -z "$out" ] || printf '%s\n' "$out"
verdict heads "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "files without an opening comment"
