#!/usr/bin/env bash
# The page of measurements, docs/benchmarks.md, from the committed results in bench/results/: one
# file per bench, one line per kept run, the last line counts. Needs jq.
#   tools/benchmarks.sh > docs/benchmarks.md
#   tools/benchmarks.sh keep [name ...]   first take over the lines of build/bench-results/results.jsonl
# Runs of mode quick are not kept: their counts are too small to mean anything.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v jq >/dev/null || { echo "benchmarks: jq is missing: apt-get install jq" >&2; exit 2; }

if [ "${1:-}" = keep ]; then
  shift
  new=build/bench-results/results.jsonl
  [ -s "$new" ] || { echo "benchmarks: $new is missing: run \`make bench\`" >&2; exit 2; }
  mkdir -p bench/results
  while IFS= read -r line; do
    name=$(jq -r .bench <<<"$line") mode=$(jq -r .mode <<<"$line")
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    [ "$mode" != quick ] || { echo "benchmarks: $name was measured with mode quick: not kept" >&2; continue; }
    printf '%s\n' "$line" >>"bench/results/$name.jsonl"
    echo "benchmarks: kept $name" >&2
  done <"$new"
  exit 0
fi

lines=()
for name in throughput staged sandbox memory timing extract separation lm train_eval train_share train_memory \
  torch_throughput torch_extension; do
  [ -s "bench/results/$name.jsonl" ] && lines+=("$(tail -n 1 "bench/results/$name.jsonl")")
done
# Kernels are measured apart: of each, alone and beside contexts, all rows of the last commit that it was measured at.
null=bench/results/torch_null.jsonl
[ -s "$null" ] && lines+=("$(jq -cs 'def last_rows(load): map(. as $l | .result.rows[] | select(.load | startswith(load))
    | . + {commit: $l.commit, command: $l.command}) | group_by(.kernel) | map(last.commit as $c | .[] | select(.commit == $c));
  last_rows("alone") as $alone | last_rows("beside") as $beside
  | last | .command = ($alone + $beside | map(.command) | unique | join("`, `"))
  | .commit = ($alone + $beside | map(.commit) | unique | join(" and ")) | .result.rows = $alone | .result.beside = $beside' "$null")")
printf '%s\n' "${lines[@]:-}" | jq -rs -f tools/benchmarks.jq
