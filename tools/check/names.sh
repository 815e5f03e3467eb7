#!/usr/bin/env bash
# What a source file exports begins with its library's prefix. Reads the objects that the check
# `warnings` has built.
source "$(dirname "$0")/lib.sh"
objects=build/check/obj
there=()
while IFS= read -r c; do
  o=$objects/${c%.c}.o
  [ ! -f "$o" ] || there+=("$o")
done < <(files | grep '^src/.*\.c$' | grep -v '^src/runner/null/')
if [ ${#there[@]} -eq 0 ]; then
  echo "no objects below $objects: run the check \`warnings\` first"
  verdict names 1 "names without the prefix"
fi
# The calls of kgym.h are those of the pool.
out=$(nm -A -g --defined-only "${there[@]}" | sed "s|^$objects/\(.*\)\.o:.* |\1.c |" |
  grep -v -E ' ((kg|lm|rl|tr)_|main$|__(asan|ubsan|odr_asan))|^src/gym/pool/.* kgym_' |
  sed 's/^\([^ ]*\) \(.*\)/\1: \2 does not begin with kg_, lm_, rl_ or tr_/') || true
bad=0
[ -z "$out" ] || { printf '%s\n' "$out"; bad=$(wc -l <<<"$out"); }
verdict names "$bad" "names without the prefix"
