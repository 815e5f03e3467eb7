#!/usr/bin/env bash
# Builds every fuzz/fuzz_*.c with clang's libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer
# and runs each on its corpus. New inputs go to build/fuzz/corpus/, crashes to build/fuzz/crash-*.
# Exit status 1 if any target crashed.
#   FUZZ_SECONDS=30 tools/fuzz.sh [name ...]
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-30}
sanitize=-fsanitize=address,undefined
libraries=$(pkg-config --libs jansson yaml-0.1 libcrypto libffi libseccomp libpcre2-8 libutf8proc libevent_core libevent_extra sqlite3 libzstd hiredis)
b=build/fuzz

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for f in fuzz/fuzz_*.c; do f=${f#fuzz/fuzz_}; names+=("${f%.c}"); done
fi

mkdir -p "$b"
make --no-print-directory -s -j2 VARIANT=fuzz CC=clang SAN="$sanitize,fuzzer-no-link -fno-sanitize-recover=all" \
  WERROR=-Wno-unknown-warning-option "$b/libkgym-internal.a" >"$b/build.log" 2>&1 || { cat "$b/build.log"; exit 2; }

crashed=()
for name in "${names[@]}"; do
  prog=$b/fuzz_$name found=$b/corpus/$name log=$b/$name.log
  mkdir -p "$found"
  clang -std=gnu17 -O1 -g -D_GNU_SOURCE -Isrc -I. "$sanitize,fuzzer" -fno-sanitize-recover=all \
    "fuzz/fuzz_$name.c" "$b/libkgym-internal.a" -o "$prog" $libraries -lm -lpthread -ldl || exit 2
  if "$prog" "$found" "fuzz/corpus/$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
      -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$b/crash-$name-" >"$log" 2>&1; then
    verdict=ok
  else
    verdict=CRASHED crashed+=("$name")
  fi
  runs=$(awk '/number_of_executed_units/ {print $2}' "$log")
  edges=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
  printf '%-12s %-8s %10s runs  %s\n' "$name" "$verdict" "${runs:-?}" "$edges"
  [ $verdict = ok ] || grep -m1 -A12 -e 'ERROR' -e 'assertion' -e 'runtime error' "$log" | sed 's/^/  | /'
done
[ ${#crashed[@]} -eq 0 ] || { echo "fuzz: crashed: ${crashed[*]}; inputs in $b/crash-*"; exit 1; }
