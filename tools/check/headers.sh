#!/usr/bin/env bash
# Every header compiles alone, opens with a comment, and has the guard of its path:
# src/base/err.h -> KG_BASE_ERR_H. The public header, src/gym/kgym.h, is installed by itself: its guard
# is KGYM_H, and it compiles as strict C99 and C++11 with no folder to include from.
source "$(dirname "$0")/lib.sh"
complain() { echo "$1: $2"; }
judge() { # HEADER
  local h=$1 name guard why as text
  name=${h#src/}
  guard=KG_$(tr 'a-z/.-' 'A-Z___' <<<"$name")
  [ "$h" != src/gym/kgym.h ] || guard=KGYM_H
  text=$(<"$h")
  [[ $text == '/*'* ]] || complain "$h" "does not open with a comment"
  [[ $'\n'$text$'\n' == *$'\n'"#ifndef $guard"$'\n'* && $'\n'$text$'\n' == *$'\n'"#define $guard"$'\n'* ]] ||
    complain "$h" "its include guard is not $guard"
  why=$(gcc -std=gnu17 -D_GNU_SOURCE -Isrc -fsyntax-only -include "$h" -x c /dev/null 2>&1) ||
    complain "$h" "does not compile alone: $(grep -m1 error <<<"$why")"
  [ "$h" = src/gym/kgym.h ] || return 0
  for as in "gcc -std=c99 -x c" "g++ -std=c++11 -x c++"; do
    command -v "${as%% *}" >/dev/null || continue
    why=$(echo '#include "kgym.h"' | $as -pedantic-errors -Wall -Wextra -Werror -Isrc/gym -fsyntax-only - 2>&1) ||
      complain "$h" "does not compile with \`${as% -x*}\`: $(grep -m1 error <<<"$why")"
  done
}
export -f complain judge
out=$(files | grep '^src/.*\.h$' | xargs -r -P2 -n 16 bash -c 'for h; do judge "$h"; done' group) ||
  out+=${out:+$'\n'}"not all headers were looked at"
[ -z "$out" ] || printf '%s\n' "$out"
verdict headers "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "faults in headers"
