#!/usr/bin/env bash
# The demo: a small model learns on this machine to write faster C kernels. Set-up, build, then `kgym train`
# (corpus, SFT, evaluation, RL, evaluation) and `kgym report`, with the seconds of each phase.
#
#   tools/demo.sh [--built] [--out RUN] [--recheck N] [--set key=value]...
#
#   --built        set-up and build are done
#   --out RUN      the folder of the run, which is replaced (default runs/demo)
#   --recheck N    so many random correct kernels are judged again by the preset `default` (default 20)
#   --set KEY=V    passed on to `kgym train`
#   CONFIG=FILE    another configuration than configs/demo.yaml
#
# Exit status: 0 when all phases ran, whether or not the effect was shown (a line says which); 1 when a component
# of the method was on and looked at nothing; else that of the phase that failed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=runs/demo recheck=20 built=no sets=()
while [ $# -gt 0 ]; do
  case $1 in
  --built) built=yes ;;
  --out) out=${2:?--out needs a folder}; shift ;;
  --recheck) recheck=${2:?--recheck needs a number}; shift ;;
  --set) sets+=(--set "${2:?--set needs key=value}"); shift ;;
  *) echo "demo: no option $1" >&2; exit 2 ;;
  esac
  shift
done
kgym=build/release/kgym
export KGYM_CACHE=${KGYM_CACHE:-$PWD/build/cache/kgym} # the demo writes nothing outside the tree

if [ -e "$out" ] && [ ! -e "$out/metrics.jsonl" ] && [ ! -e "$out/config.yaml" ] && [ -n "$(ls -A "$out")" ]; then
  echo "demo: $out is no folder of a run: remove it, or name another with --out" >&2
  exit 2
fi
seconds=()
phase() { # NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  "$@"
  seconds+=("$name $((SECONDS - start))")
}
if [ $built = no ]; then
  phase set-up tools/setup.sh
  phase build make --no-print-directory -j"$(nproc)" all
fi
rm -rf "$out"
phase train "$kgym" train "${CONFIG:-configs/demo.yaml}" --out "$out" ${sets[@]+"${sets[@]}"}
echo
# The training has printed its tables: of the report's only what is new.
status=0
start=$SECONDS
"$kgym" report "$out" --title 'kgym demo' --recheck "$recheck" >"$out/report.txt" || status=$?
grep -E '^(judging|judged again|note|FAILED|effect shown|report):? ' "$out/report.txt" || true
seconds+=("report $((SECONDS - start))")
printf 'demo: seconds:'
printf ' %s,' "${seconds[@]}"
printf ' in all %d\n' "$SECONDS"
exit $status
