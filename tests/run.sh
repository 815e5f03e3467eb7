#!/usr/bin/env bash
# Runs every test program of a build folder and ends with one line: "N passed, N failed, N skipped".
#   tests/run.sh build/release [name ...]
# A program that fails is run once more, because processes, clocks and control groups of a busy host are in
# play; both outputs are shown, and "again" marks it. TEST_RETRY=0: never. Those that failed are named once
# more before the summary. Lines that begin with "told: " or "skip: " are shown with it.
# Where libcuda and a device are, tests run on them (KGYM_TEST_GPU=1; =0: there is none), and a test that
# skips has failed: what only a GPU shows has not been shown. Sanitized builds skip what takes too long, and
# programs that are mostly Python's time where others run the same C: they are named below.
# TEST_DEV: another folder than /dev, for its own test.
set -uo pipefail
b=$1; shift
export KGYM_BUILD=$(cd "$b" && pwd) KGYM_TREE=$(pwd)
if [ $# -gt 0 ]; then progs=("${@/#/$b/tests/}"); else progs=("$b"/tests/*); fi
passed=0 failed=0 skipped=0 names=

gpu_here() {
  local node
  [ -e "${TEST_DEV:-/dev}/nvidiactl" ] || return 1
  for node in "${TEST_DEV:-/dev}"/nvidia[0-9]*; do
    [ -e "$node" ] && { /sbin/ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' || [ -n "${TEST_DEV:-}" ]; }
    return
  done
}
if [ -z "${KGYM_TEST_GPU:-}" ] && gpu_here; then export KGYM_TEST_GPU=1; fi
[ "${KGYM_TEST_GPU:-}" = 1 ] || unset KGYM_TEST_GPU
python_s="test_cli_kernelbench test_cli_problems test_torch_cli test_torch_league test_torch_panel test_torch_precision"
case $b in */sanitize | */asan | */ubsan) strict=no ;; *) strict=${KGYM_TEST_GPU:-no} python_s= ;; esac
[ $# -eq 0 ] || python_s= # who names one wants it
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs $1; sets p, f, s and rc.
run_one() {
  if timeout "${TEST_TIMEOUT:-600}" "$1" >"$log" 2>&1; then rc=0; else rc=$?; fi
  local ran
  ran=$(grep -c '^\[ RUN      \]' "$log")
  p=$(grep -c '^\[       OK \]' "$log")
  s=$(grep '^\[  SKIPPED \] [A-Za-z_]' "$log" | sort -u | wc -l) # once more in cmocka's summary
  f=$((ran - p - s < 0 ? 0 : ran - p - s))
  [ "$strict" = 1 ] && f=$((f + s))
  if [ "$ran" -eq 0 ] || { [ $rc -ne 0 ] && [ "$f" -eq 0 ]; }; then f=$((f + 1)); fi
}

show_failure() {
  echo "  $(basename "$1") failed with exit status $rc; its output:"
  sed 's/^/  | /' "$log" | tail -60
  if [ "$strict" = 1 ]; then grep '^skip: ' "$log" | sort -u | sed 's/^/  | with a GPU nothing may skip: /'; fi
  # last, since what a sanitizer says of the memory of a test that stopped may be longer than that
  grep -n -A 1 '^\[  ERROR   \]' "$log" | sed 's/^/  | line /' | head -20
}

for t in "${progs[@]}"; do
  if [[ " $python_s " == *" $(basename "$t") "* ]]; then
    printf '%-34s skipped, sanitized: its time is Python'"'"'s\n' "$(basename "$t")"
    continue
  fi
  if [ ! -x "$t" ] || [ ! -f "$t" ]; then
    echo "$t: no such test program"
    failed=$((failed + 1)) names+=" $(basename "$t")"
    continue
  fi
  start=$(date +%s.%N) mark=ok
  run_one "$t"
  if [ "$f" -gt 0 ]; then
    show_failure "$t"
    mark=FAILED
    if [ "${TEST_RETRY:-1}" != 0 ]; then
      run_one "$t"
      if [ "$f" -gt 0 ]; then show_failure "$t"; else mark=again; fi
    fi
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  [ "$f" -eq 0 ] || names+=" $(basename "$t")"
  printf '%-34s %-6s %3d passed %3d skipped  %6.1f s\n' "$(basename "$t")" "$mark" "$p" "$s" \
    "$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN {print b - a}')"
  grep -h '^skip: ' "$log" | sort | uniq -c | sed 's/^/  /'
  grep -h '^told: ' "$log" | sed 's/^told: /          /'
done
[ -z "$names" ] || echo "failed:$names"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
