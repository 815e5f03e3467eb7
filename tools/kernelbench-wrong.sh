#!/usr/bin/env bash
# Wrong candidates for KernelBench's largest problems: none of them may be `ok`.
#   tools/kernelbench-wrong.sh CHECKOUT OUT [--count 20] [--problems 1/19,3/6] [--kinds zeros,...] [--jobs N]
#                              [--evaluations 20] [--seconds 540] [--kgym PROGRAM] [-- OPTIONS OF kgym eval]
# CHECKOUT holds KernelBench/level1 to level3. For each of the --count problems with the largest inputs, or for
# --problems, candidates are written from its text: zeros; half-batch, the first half of the batch right and the
# rest copied from it; last-row, left out; half-precision inside; first-answer, that of the first call kept.
# Half-batch and last-row are asked --evaluations times where the answer has fewer than 64 elements; half-precision
# may be `ok` there. A call takes at most --seconds; the same command goes on where it ended, or was killed. What is
# neither `ok`, `wrong` nor `hack` is asked once more, alone. OUT gets batch.jsonl, records (first.jsonl,
# alone.jsonl), kgym.log and table.txt.
# Exit status: 0 all were seen; 1 some were `ok`, or got no such verdict; 3 more is left; 2 it failed.
set -uo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
case ${1:-} in -h | --help) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$tree/tools/kernelbench-wrong.py" "$@"
