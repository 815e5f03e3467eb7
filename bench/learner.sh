#!/usr/bin/env bash
# The measurements of the learner in one go, about four minutes on an idle host with two cores: the engine beside
# PyTorch and transformers, evaluations a second by preset, the share of a step of RL by what it does, memory over 500
# steps. Tables on the screen, JSON lines in build/bench-results/results.jsonl, as bench/run.sh does it.
#   bench/learner.sh [build/release] [quick]
# PyTorch and transformers: `make goldens` makes the environment. Without it the engine is measured alone.
# Numbers to keep: an idle host, then tools/benchmarks.sh keep lm train_eval train_share train_memory.
set -euo pipefail
cd "$(dirname "$0")/.."
b=${1:-build/release}
names=(lm train_eval train_share train_memory)
make --no-print-directory all "${names[@]/#/$b/bench/bench_}"
read -r load _ </proc/loadavg
if [ "${load%%.*}" -ge 1 ]; then
  echo "learner: the load is $load: what threads wait for makes PyTorch's figures worse than the engine's" >&2
fi
if [ "${2:-}" = quick ]; then
  exec bench/run.sh "$b" quick "${names[@]}"
fi
exec bench/run.sh "$b" "${names[@]}"
