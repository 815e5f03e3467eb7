#!/usr/bin/env bash
# What a source file exports begins with its library's prefix. Reads the objects that the check
# `warnings` has built.
source "$(dirname "$0")/lib.sh"
objects=build/check/obj
bad=0 seen=0
while IFS= read -r c; do
  o=$objects/${c%.c}.o
  [ -f "$o" ] || continue
  seen=$((seen + 1))
  while IFS= read -r symbol; do
    case $c:$symbol in src/gym/pool/*:kgym_*) continue ;; esac # the calls of kgym.h
    echo "$c: $symbol does not begin with kg_, lm_, rl_ or tr_"
    bad=$((bad + 1))
  done < <(nm -g --defined-only "$o" | awk '{print $3}' | grep -v -E '^(kg|lm|rl|tr)_|^main$|^__(asan|ubsan|odr_asan)')
done < <(files | grep '^src/.*\.c$' | grep -v '^src/runner/null/')
[ "$seen" -gt 0 ] || { echo "no objects below $objects: run the check \`warnings\` first"; bad=1; }
verdict names "$bad" "names without the prefix"
