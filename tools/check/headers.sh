#!/usr/bin/env bash
# Every header compiles alone, opens with a comment, and has the guard of its path:
# src/base/err.h -> KG_BASE_ERR_H.
source "$(dirname "$0")/lib.sh"
bad=0
complain() { echo "$1: $2"; bad=$((bad + 1)); }
while IFS= read -r h; do
  name=${h#src/}
  guard=KG_$(tr 'a-z/.-' 'A-Z___' <<<"$name")
  [ "$(head -c 2 "$h")" = '/*' ] || complain "$h" "does not open with a comment"
  grep -qx "#ifndef $guard" "$h" && grep -qx "#define $guard" "$h" ||
    complain "$h" "its include guard is not $guard"
  why=$(gcc -std=gnu17 -D_GNU_SOURCE -Isrc -fsyntax-only -include "$h" -x c /dev/null 2>&1) ||
    complain "$h" "does not compile alone: $(grep -m1 error <<<"$why")"
done < <(files | grep '^src/.*\.h$')
verdict headers "$bad" "faults in headers"
