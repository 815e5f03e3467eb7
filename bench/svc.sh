#!/usr/bin/env bash
# The benches of the service, one after the other, in about seven minutes: what docs/service.md plans from.
#   bench/svc.sh [BUILD] [quick]      default: build/release; quick: small sizes, only to see that all run
# Tables on the screen and in svc.txt, JSON lines in svc.jsonl, both in $BENCH_OUT (build/bench-results).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
b=$(cd "${1:-build/release}" && pwd) || exit 2
mode=${2:-usual}
export KGYM_BUILD=$b XDG_CACHE_HOME=${XDG_CACHE_HOME:-$PWD/build/cache}
out=${BENCH_OUT:-build/bench-results}
mkdir -p "$out"
: >"$out/svc.txt"
: >"$out/svc.jsonl"
failed=()
run() {
  echo "== $*"
  if "$b/bench/$1" "${@:2}" >"$out/svc.last"; then
    sed '$d' "$out/svc.last" | tee -a "$out/svc.txt"
    tail -n 1 "$out/svc.last" >>"$out/svc.jsonl"
  else
    failed+=("$1")
  fi
}
redis=yes
command -v redis-server >/dev/null || { redis=no; echo "skipped: no redis-server is installed: the runs with Redis"; }
if [ "$mode" = quick ]; then
  run bench_svc_batch 4 2 1
  run bench_svc_batch 20 2 1 empty
  run bench_svc_http 1 8 5
  run bench_svc_workers sqlite 2 2 4
  [ $redis = no ] || run bench_svc_workers redis 2 10 4 200 2
  run bench_svc_idle 50 2000 1
  run bench_svc_lanes sqlite 500 5
else
  run bench_svc_batch 100 2 3
  run bench_svc_batch 500 2 5 empty
  run bench_svc_http 5 256
  run bench_svc_workers sqlite 20
  [ $redis = no ] || run bench_svc_workers redis 20
  [ $redis = no ] || run bench_svc_workers redis 120 1000 16 8000 2
  run bench_svc_idle
  run bench_svc_lanes sqlite
  [ $redis = no ] || run bench_svc_lanes redis
fi
rm -f "$out/svc.last"
[ ${#failed[@]} -eq 0 ] || { echo "bench: failed: ${failed[*]}" >&2; exit 1; }
