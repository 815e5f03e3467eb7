#!/usr/bin/env bash
# KernelBench's own references as candidates: every line should be `ok`, and as fast as itself.
#   tools/kernelbench-identity.sh CHECKOUT OUT [--levels 1,2,3] [--problems 1/19,3/6] [--jobs N]
#                                 [--seconds 540] [--gpu 0] [--kgym PROGRAM] [-- OPTIONS OF kgym eval]
# CHECKOUT holds KernelBench/level1 to level3. Each problem's class Model, renamed to ModelNew in its text, is
# judged against the problem. A call takes at most --seconds; the same command goes on where it ended, or where
# it was killed. A line that is not `ok`, or whose interval lacks 1 while its ratio is more than 2 % away, is
# asked once more, alone. OUT gets batch.jsonl, records (first.jsonl, alone.jsonl), kgym.log, device.csv
# (nvidia-smi, where there is one: memory and share of the time with a kernel), results.jsonl and table.txt.
# A line's outcome is `ok`; `miss`: right, but its speed is not its own; `untimed`: right, on a GPU, without a
# time; `defect`: the problem is at fault; `error`; or the verdict. Its peak is what its processes claim.
# Exit status: 0 all ok, defects aside; 1 some not; 3 more is left; 2 it failed, or a piece ended no line.
set -uo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
case ${1:-} in -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$tree/tools/kernelbench-identity.py" "$@"
