#!/usr/bin/env bash
# Everything compiles without a warning, in a build folder of its own; tests of the engine in f64 as such.
source "$(dirname "$0")/lib.sh"
mapfile -t objects < <(files | grep -E '^(src/.*|kgops/[^/]*|tests/(unit|support)/[^/]*|(fuzz|bench)/[^/]*)\.c$' |
  sed -e 's|\(.*\)\.c$|build/check/obj/\1.o|' -e 's|/obj\(/tests/unit/.*_f64\.o\)$|/obj64\1|')
log=$(make --no-print-directory -k -s -j2 VARIANT=check WERROR=-Werror "${objects[@]}" 2>&1)
status=$?
bad=$(grep -c 'error:' <<<"$log")
[ $status -eq 0 ] || grep -E 'error:|No rule' <<<"$log" | head -40
[ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
# A tree that has no release build yet gets these objects: the same commands made them, but for -Werror.
if [ $status -eq 0 ] && [ ! -e build/release ]; then
  rm -rf build/release.new
  mkdir -p build/release.new &&
    cp -a build/check/obj* build/release.new/ &&
    find build/release.new -name '*.d' -exec sed -i 's|build/check/|build/release/|g' {} + &&
    mv build/release.new build/release
fi
verdict warnings "$bad" "warnings or errors"
