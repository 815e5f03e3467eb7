#!/usr/bin/env bash
# Every header compiles alone, opens with a comment, and has the guard of its path:
# src/base/err.h -> KG_BASE_ERR_H. The public header, src/gym/kgym.h, is installed by itself: its guard
# is KGYM_H, and it compiles as strict C99 and C++11 with no folder to include from.
source "$(dirname "$0")/lib.sh"
bad=0
complain() { echo "$1: $2"; bad=$((bad + 1)); }
while IFS= read -r h; do
  name=${h#src/}
  guard=KG_$(tr 'a-z/.-' 'A-Z___' <<<"$name")
  [ "$h" != src/gym/kgym.h ] || guard=KGYM_H
  [ "$(head -c 2 "$h")" = '/*' ] || complain "$h" "does not open with a comment"
  grep -qx "#ifndef $guard" "$h" && grep -qx "#define $guard" "$h" ||
    complain "$h" "its include guard is not $guard"
  why=$(gcc -std=gnu17 -D_GNU_SOURCE -Isrc -fsyntax-only -include "$h" -x c /dev/null 2>&1) ||
    complain "$h" "does not compile alone: $(grep -m1 error <<<"$why")"
  [ "$h" = src/gym/kgym.h ] || continue
  for as in "gcc -std=c99 -x c" "g++ -std=c++11 -x c++"; do
    command -v "${as%% *}" >/dev/null || continue
    why=$(echo '#include "kgym.h"' | $as -pedantic-errors -Wall -Wextra -Werror -Isrc/gym -fsyntax-only - 2>&1) ||
      complain "$h" "does not compile with \`${as% -x*}\`: $(grep -m1 error <<<"$why")"
  done
done < <(files | grep '^src/.*\.h$')
verdict headers "$bad" "faults in headers"
