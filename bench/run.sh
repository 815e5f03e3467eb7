#!/usr/bin/env bash
# Runs the benches of a build folder in turn: tables on the screen and in
# build/bench-results/<name>.txt, one JSON line of each bench's last run in build/bench-results/results.jsonl.
#   bench/run.sh build/release [quick|full] [name ...]
# Default: about a quarter of an hour on an idle host; bench_timing then has 20 repetitions, which
# is enough to see a defect but not for a claim. full: its 200 repetitions, about an hour more.
# quick: small counts, a minute, only to see that every bench runs: its numbers mean nothing.
# BENCH_ARGS='200;0.5 ms' bench/run.sh build/release full timing: these arguments instead, split at `;`.
# Numbers to keep: an idle host, `full`, then tools/benchmarks.sh keep.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
b=$(cd "$1" && pwd); shift
cd "$(dirname "$0")/.."
mode=usual
case "${1:-}" in quick | full) mode=$1; shift ;; esac
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(extract separation sum_orders sandbox throughput staged memory lm chain_margins chains refine train_eval train_share train_memory timing)
export KGYM_BUILD=$b XDG_CACHE_HOME=${XDG_CACHE_HOME:-$PWD/build/cache}
out=build/bench-results
mkdir -p "$out"
touch "$out/results.jsonl"

counts() {
  case "$mode/$1" in
    quick/extract) echo 5 ;;
    quick/separation) echo 32 ;;
    quick/sum_orders) echo 1 row_stats ;;
    usual/sum_orders) echo 20 ;;
    quick/sandbox) echo 5 3 4 ;;
    quick/throughput) echo 4 2 0 ;;
    quick/staged) echo 20 2 ;;
    quick/memory) echo 60 10 ;;
    quick/lm) echo 1 ;;
    quick/chain_margins) echo 2 ;;
    quick/train_eval) echo 2 1 2 ;;
    quick/train_share) echo 5 5 ;;
    quick/train_memory) echo 20 ;;
    quick/chains) echo 1 0 ;;
    quick/refine) echo 2 1 2 ;;
    usual/refine) echo 6 1 ;;
    usual/chains) echo 6 2 ;;
    quick/timing) echo 2 ;;
    usual/timing) echo 20 ;;
  esac
}

failed=()
for name in "${names[@]}"; do
  bench=$b/bench/bench_$name
  [ -x "$bench" ] || { echo "bench: $bench is missing: \`make bench\` builds it" >&2; failed+=("$name"); continue; }
  read -r -a args <<<"$(counts "$name")"
  [ -z "${BENCH_ARGS:-}" ] || IFS=';' read -r -a args <<<"$BENCH_ARGS"
  command="bench_$name${args[*]:+ ${args[*]}}"
  echo "== $command ($mode)"
  start=$SECONDS
  if "$bench" "${args[@]}" | tee "$out/$name.txt"; then
    line=$(tail -n 1 "$out/$name.txt")
    sed -i "/\"bench\":\"$name\"/d" "$out/results.jsonl"
    printf '{"command":"%s","mode":"%s",%s\n' "$command" "$mode" "${line#\{}" >>"$out/results.jsonl"
  else
    failed+=("$name")
  fi
  echo "== $((SECONDS - start)) s"
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "bench: failed: ${failed[*]}" >&2
  exit 1
fi
echo "bench: texts and $out/results.jsonl are in $out"
