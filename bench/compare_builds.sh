#!/usr/bin/env bash
# Does a change cost throughput? Judges one batch by two builds in turns and prints the ratio of their times.
#   bench/compare_builds.sh OLD NEW [ROUNDS] [c|torch]
# OLD, NEW: build folders, such as build/release of two trees. Default: 7 rounds, both executors; without torch
# (`make torch`) only C, and it is said. Nothing is timed (--no-stage-timing) and nothing cached, so that the time
# is the gym's. The order alternates. Prints a table and one JSON line for each executor: medians in seconds, the
# median ratio NEW / OLD, and its smallest and largest value.
set -euo pipefail
old=$(cd "${1:?usage: bench/compare_builds.sh OLD NEW [ROUNDS] [c|torch]}" && pwd)
new=$(cd "${2:?usage: bench/compare_builds.sh OLD NEW [ROUNDS] [c|torch]}" && pwd)
rounds=${3:-7}
tree=$(cd "$(dirname "$0")/.." && pwd)
python=${KGYM_PYTHON:-$tree/.venv/bin/python}
[ -x "$python" ] || python=python3
kinds=("${@:4}")
if [ ${#kinds[@]} -eq 0 ]; then
  kinds=(c torch)
  "$python" -c 'import torch' 2>/dev/null || { echo "skip: torch: $python has no torch"; kinds=(c); }
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

lines() { # lines KIND: a batch
  local f base
  if [ "$1" = c ]; then
    for _ in 1 2 3; do
      for f in "$tree"/problems/candidates/*.fast.c; do
        base=$(basename "$f" .fast.c)
        n=$((${n:-0} + 1))
        printf '{"id": "%s.%d", "problem": "%s", "source_file": "%s"}\n' "$base" "$n" "$base" "$f"
      done
    done
  else
    for f in "$tree"/problems/torch/level1/*.py; do
      base=$(basename "$f" .py)
      [ ! -f "$tree/problems/torch_candidates/${base#*_}.fast.py" ] ||
        printf '{"id": "%s", "problem": "%s", "source_file": "%s"}\n' "$base" "$f" \
          "$tree/problems/torch_candidates/${base#*_}.fast.py"
    done
  fi
}

seconds() { # seconds BUILD KIND
  local begun
  rm -f "$dir/out.jsonl"
  begun=$(date +%s.%N)
  KGYM_HOME=$1 KGYM_PYTHON=$python "$1/kgym" eval --batch "$dir/$2.jsonl" --out "$dir/out.jsonl" --no-stage-timing \
    --set cache=none --device cpu --set "suites=$tree/problems/native:$tree/problems/torch" 2>"$dir/log" ||
    { [ -s "$dir/out.jsonl" ] || { cat "$dir/log" >&2; exit 2; }; }
  awk -v a="$begun" -v b="$(date +%s.%N)" 'BEGIN {printf "%.3f\n", b - a}'
}

median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

printf '%-6s %5s %9s %9s %8s %17s\n' kind lines 'old s' 'new s' new/old 'smallest, largest'
for kind in "${kinds[@]}"; do
  lines "$kind" >"$dir/$kind.jsonl"
  seconds "$old" "$kind" >/dev/null # files and interpreters into memory
  : >"$dir/times"
  for ((i = 0; i < rounds; i++)); do
    if ((i % 2)); then a=$(seconds "$old" "$kind") b=$(seconds "$new" "$kind")
    else b=$(seconds "$new" "$kind") a=$(seconds "$old" "$kind"); fi
    echo "$a $b $(awk -v a="$a" -v b="$b" 'BEGIN {print b / a}')" >>"$dir/times"
  done
  o=$(cut -d' ' -f1 "$dir/times" | median) n=$(cut -d' ' -f2 "$dir/times" | median)
  r=$(cut -d' ' -f3 "$dir/times" | median)
  lo=$(cut -d' ' -f3 "$dir/times" | sort -g | head -1) hi=$(cut -d' ' -f3 "$dir/times" | sort -g | tail -1)
  count=$(wc -l <"$dir/$kind.jsonl")
  printf '%-6s %5d %9.3f %9.3f %8.3f %8.3f %8.3f\n' "$kind" "$count" "$o" "$n" "$r" "$lo" "$hi"
  printf '{"bench":"compare_builds","kind":"%s","lines":%d,"rounds":%d,"old_s":%s,"new_s":%s,"ratio":%s,"lo":%s,"hi":%s,"cores":%d,"cpu":"%s"}\n' \
    "$kind" "$count" "$rounds" "$o" "$n" "$r" "$lo" "$hi" "$(nproc)" \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
done
