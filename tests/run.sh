#!/usr/bin/env bash
# Runs the test programs of a build folder and ends with one line: "N passed, N failed, N skipped".
#   tests/run.sh BUILD              all programs but those that tests/programs.txt calls long
#   tests/run.sh BUILD --long       those that it calls long
#   tests/run.sh BUILD --all        both
#   tests/run.sh BUILD --python     all programs but the long ones, of those whose source names Python or PyTorch
#                                   and that tests/programs.txt doesn't call once
#   tests/run.sh BUILD NAME ...     these
#   tests/run.sh --sum FILE         no program: the last line for all runs that wrote to FILE (TEST_TALLY)
#
# A program fails when one of its tests fails, when it ends with another exit status than 0, when it runs no
# test, and when cmocka's last line is missing ("N test(s) run"). Skipped tests do not make it fail.
# A program that fails is run again, alone, twice at most, because a busy host disturbs clocks, processes and
# control groups. All outputs are shown, and "again" marks it. The last run counts.
# The ten programs that took the longest, the lines that failed, and the names of programs that failed stand
# before the last line.
# Lines that begin with "told: " or "skip: " are shown below their program.
#
# Programs run one after the other, but for those that tests/programs.txt calls light: these assert nothing of a
# time and need one CPU, so they run side by side at the end, each on a CPU of its own. On a GPU they don't. Sanitized
# programs all run side by side, three for two CPUs, since none of their times means anything; only light ones keep to
# one CPU.
# A program that tests/programs.txt calls once has a Python that does nothing but tell that it was started, and that
# makes the program fail. On a GPU it has the usual one.
# Where libcuda and a device are, tests run on them (KGYM_TEST_GPU=1; =0: there is none). There a test that
# skips has failed. Sanitized builds skip tests that take too long, and the programs that tests/programs.txt calls
# unsanitized, unless they are named.
#
# Environment:
#   TEST_RETRY=N       run what fails so many times more (default 2)
#   TEST_TIMEOUT=N     seconds that one program may take (default 600, sanitized 1800)
#   TEST_LANES=N       light programs at once (default: one on each CPU, four at most), half as many more if sanitized
#   TEST_UNTIL=SECONDS begin no program after this time (of `date +%s`): those that are left are named, and each counts
#                      as one skipped test. What failed is run again all the same. Of sanitized ones the longest are left:
#                      of those that are not light the slow ones come last, and light ones run from the list's end.
#   TEST_TALLY=FILE    append the counts of this run to FILE
#   TEST_DEV=FOLDER    look for devices there, not in /dev (for the test of this script)
#   TEST_LIST=FILE     read this list, not tests/programs.txt (for the test of this script)
#   TEST_SOURCES=FOLDER  the sources of test programs (for the test of this script)
set -uo pipefail

if [ "${1:-}" = --sum ]; then
  awk '{p += $1; f += $2; s += $3}
    END {print p + 0 " passed, " f + 0 " failed, " s + 0 " skipped"; exit f > 0 || NR == 0}' "${2:?--sum needs a file}"
  exit
fi

b=${1:?usage: tests/run.sh BUILD [--long | --all | NAME ...]}; shift
KGYM_BUILD=$(cd "$b" && pwd) || exit 2
export KGYM_BUILD KGYM_TREE=$PWD
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$PWD/build/cache} # tests write nothing below the user's home
mkdir -p "$XDG_CACHE_HOME"
list=${TEST_LIST:-$(dirname "$0")/programs.txt}
[ -r "$list" ] || { echo "tests: cannot read $list" >&2; exit 2; }
is() { grep -qx "$1  *$2" "$list"; } # is long NAME

case $b in */sanitize | */asan | */ubsan) sanitized=yes most_s=1800 ;; *) sanitized=no most_s=600 ;; esac
skips=$sanitized # programs that the list calls unsanitized

progs=()
case ${1:-} in
'' | --long | --all | --python)
  for t in "$b"/tests/*; do
    n=$(basename "$t")
    case ${1:-} in
    --long) is long "$n" || continue ;;
    '') ! is long "$n" || continue ;;
    --python) ! is long "$n" && ! is once "$n" && grep -qiE 'python|torch' "${TEST_SOURCES:-$(dirname "$0")/unit}/$n.c" 2>/dev/null || continue ;;
    esac
    progs+=("$n")
  done
  ;;
*) progs=("$@") skips=no ;;
esac

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
if [ $sanitized = no ]; then strict=${KGYM_TEST_GPU:-no}; else strict=no; fi

# The CPUs that light programs run on: "0 1".
lane_cpus() {
  local most=${TEST_LANES:-4}
  taskset -cp $$ 2>/dev/null | sed 's/.*: //' | tr ',' '\n' |
    awk -F - -v most="$most" '{for (i = $1; i <= (NF > 1 ? $2 : $1) && n < most; i++) {print i; n++}}'
}
mapfile -t lanes < <(lane_cpus)
[ "$strict" != 1 ] || lanes=()
# Sanitized programs wait for more than half of their time, so there is half a lane more for each CPU.
if [ $sanitized = yes ] && [ ${#lanes[@]} -gt 1 ]; then lanes+=("${lanes[@]:0:$((${#lanes[@]} / 2))}"); fi

work=$(mktemp -d)
main=$BASHPID
finish() { # also when it is interrupted: what still runs is ended
  [ "$BASHPID" = "$main" ] || return
  kill $(cat "$work"/*.pid 2>/dev/null) 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT
trap 'echo "tests: interrupted"; exit 130' INT TERM

# Sets ran, p (passed), s (skipped), open (processes without a last line) and down (teardowns of a group that failed,
# which cmocka names but does not count) from a log.
# cmocka names a skipped test twice: where it skips, and in a list after its last line, with a head that says
# how many follow. Several processes may write to one log, so only sums over all lines are right.
count() {
  read -r ran p s open down <<<"$(awk '
    /^\[ RUN      \] / {ran++}
    /^\[       OK \] / {p++}
    /^\[  SKIPPED \] [A-Za-z_]/ {s++}
    /^\[  SKIPPED \] [0-9]+ test\(s\), listed below/ {s -= $4}
    /^\[==========\] Running [0-9]+ test/ {open++}
    /^\[==========\] [0-9]+ test\(s\) run\./ {open--}
    /\[  FAILED  \] GROUP TEARDOWN/ {down++}
    END {print ran + 0, p + 0, (s > 0 ? s : 0), open + 0, down + 0}' "$1")"
}

# Sets f (failed) and what count sets, from a log and rc, the program's exit status.
judge() {
  count "$1"
  f=$((ran - p - s < 0 ? 0 : ran - p - s))
  f=$((f + down))
  [ "$strict" = 1 ] && f=$((f + s))
  if [ "$f" -eq 0 ] && { [ "$ran" -eq 0 ] || [ "$rc" -ne 0 ] || [ "$open" -ne 0 ]; }; then f=1; fi
}

# A Python for the program $1 that leaves $work/$1.started; prints its path.
make_trap() {
  printf '#!/bin/sh\n: >"%s"\nexit 127\n' "$work/$1.started" >"$work/$1.python"
  chmod +x "$work/$1.python"
  echo "$work/$1.python"
}

# Runs the program $1, its output in the file $2, in the lane $3 if it has one, on the CPU $4 if one is named;
# sets rc and what judge sets.
run_one() {
  local env=()
  rc=0
  if [ "$strict" != 1 ] && is once "$1"; then env=(env KGYM_PYTHON="$(make_trap "$1")"); fi
  ${env[@]+"${env[@]}"} bash -c 'echo $$ >"$0"; exec "$@"' "$work/${3:-alone}.pid" ${4:+taskset -c "$4"} \
    timeout "${TEST_TIMEOUT:-$most_s}" "$b/tests/$1" >"$2" 2>&1 || rc=$?
  rm -f "$work/${3:-alone}.pid"
  if [ -e "$work/$1.started" ]; then
    rm -f "$work/$1.started"
    echo "[  ERROR   ] it started the Python of PyTorch, though tests/programs.txt calls it once" >>"$2"
    rc=1
  fi
  judge "$2"
}

# The lines of a log that say what failed: an assertion's two, a message of fail_msg, which cmocka cuts (so what follows
# it may stand in its last line), and what a sanitizer found; else the exit status.
what_failed() { # LOG
  local said
  said=$(awk '
    /\[  ERROR   \]|^ERROR: |ERROR: [A-Za-z]+Sanitizer|runtime error: |^SUMMARY: / {more = 3}
    more-- > 0 {sub(/.*\[   LINE   \] --- /, ""); print substr($0, 1, 300)}' "$1" | head -8)
  echo "${said:-exit status $rc}"
}

show_failure() { # NAME LOG
  echo "  $1 failed with exit status $rc; its output:"
  sed 's/^/  | /' "$2" | tail -60
  if [ "$ran" -eq 0 ]; then echo "  | it ran no test"; fi
  if [ "$open" -gt 0 ]; then echo "  | it ended before cmocka's last line, \"N test(s) run\""; fi
  if [ "$strict" = 1 ]; then grep '^skip: ' "$2" | sort -u | sed 's/^/  | with a GPU nothing may skip: /'; fi
  # last, since what a sanitizer says of the memory of a test that stopped may be longer than that
  grep -n -A 1 '^\[  ERROR   \]' "$2" | sed 's/^/  | line /' | head -20
  what_failed "$2" | sed "s/^/  $1: /" >>"$work/why"
}

# A program's line and its counts. What it took: the sum of its runs.
report() { # NAME MARK LOG SECONDS
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  [ "$f" -eq 0 ] || names+=" $1"
  echo "$4 $1" >>"$work/times"
  printf '%-34s %-6s %3d passed %3d skipped  %6.1f s\n' "$1" "$2" "$p" "$s" "$4"
  grep -h '^skip: ' "$3" | sort | uniq -c | sed 's/^/  /'
  grep -h '^told: ' "$3" | sed 's/^told: /          /'
}

since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN {printf "%.1f", b - a}'; }

# Further runs of a program that has failed.
run_again() { # NAME LOG; sets mark
  local i
  show_failure "$1" "$2"
  mark=FAILED
  for ((i = 0; i < ${TEST_RETRY:-2}; i++)); do
    run_one "$1" "$2"
    [ "$f" -gt 0 ] || { mark=again; return; }
    show_failure "$1" "$2"
  done
}

passed=0 failed=0 skipped=0 names=
late() { [ -n "${TEST_UNTIL:-}" ] && [ "$(date +%s)" -ge "$TEST_UNTIL" ]; }

first=() light=() left=()
for n in "${progs[@]}"; do
  if [ $skips = yes ] && is unsanitized "$n"; then
    printf '%-34s skipped, sanitized: its time is Python'"'"'s\n' "$n"
  elif [ ! -x "$b/tests/$n" ] || [ ! -f "$b/tests/$n" ]; then
    echo "$b/tests/$n: no such test program"
    failed=$((failed + 1)) names+=" $n"
  elif [ ${#lanes[@]} -gt 1 ] && { [ $sanitized = yes ] || is light "$n"; }; then
    light+=("$n")
  else
    first+=("$n")
  fi
done

for n in ${first[@]+"${first[@]}"}; do
  late && left+=("$n") && continue
  start=$(date +%s.%N) mark=ok
  run_one "$n" "$work/log"
  [ "$f" -eq 0 ] || run_again "$n" "$work/log"
  report "$n" $mark "$work/log" "$(since "$start")"
done

# A lane takes the next light program that no other lane has taken, runs it on its CPU, and leaves
# $work/NAME.log and $work/NAME.end with the exit status and the seconds.
run_lane() { # CPU
  local n start
  for n in "${light[@]}"; do
    mkdir "$work/$n.taken" 2>/dev/null || continue
    late && : >"$work/$n.left" && continue
    start=$(date +%s.%N)
    run_one "$n" "$work/$n.log" "$1" $(is light "$n" && echo "$1")
    echo "$rc $(since "$start")" >"$work/$n.new"
    mv "$work/$n.new" "$work/$n.end"
  done
}

# Those that are not light, then the others in the list's order, which puts the longest first. Where some of the sanitized
# ones may be left, the slow ones of the first come last among them, and the others run from the list's end.
if [ -n "${TEST_UNTIL:-}" ] && [ $sanitized = yes ]; then order=tac slow=slow; else order=cat slow=none; fi
if [ ${#light[@]} -gt 0 ]; then
  mapfile -t light < <(
    for n in "${light[@]}"; do is light "$n" || is $slow "$n" || echo "$n"; done
    for n in "${light[@]}"; do ! is light "$n" && is $slow "$n" && echo "$n"; done
    awk '$1 == "light" {print $2}' "$list" | grep -Fx -f <(printf '%s\n' "${light[@]}") | $order
  )
  set -m # else the shell would have its background jobs ignore SIGINT, and all that they start
  for cpu in "${lanes[@]}"; do run_lane "$cpu" & done
  set +m
fi
again=()
for n in ${light[@]+"${light[@]}"}; do
  until [ -e "$work/$n.end" ] || [ -e "$work/$n.left" ]; do sleep 0.1; done
  [ -e "$work/$n.left" ] && left+=("$n") && continue
  read -r rc took <"$work/$n.end"
  judge "$work/$n.log"
  if [ "$f" -eq 0 ]; then report "$n" ok "$work/$n.log" "$took"; else again+=("$n"); fi
done
wait
for n in ${again[@]+"${again[@]}"}; do # alone
  read -r rc took <"$work/$n.end"
  start=$(date +%s.%N)
  judge "$work/$n.log"
  run_again "$n" "$work/$n.log"
  report "$n" $mark "$work/$n.log" "$(awk -v a="$took" -v b="$(since "$start")" 'BEGIN {printf "%.1f", a + b}')"
done

if [ ${#progs[@]} -gt 10 ] && [ -s "$work/times" ]; then
  echo "the ten slowest of ${#progs[@]} programs, which took $SECONDS s together:"
  sort -k1,1nr "$work/times" | head -10 | awk '{printf "  %6.1f s  %s\n", $1, $2}'
fi
[ ! -s "$work/why" ] || { echo "what failed, or failed once:"; cat "$work/why"; }
if [ ${#left[@]} -gt 0 ]; then
  echo "not run, since no time was left (TEST_UNTIL): ${#left[@]} of ${#progs[@]} programs: ${left[*]}"
  skipped=$((skipped + ${#left[@]}))
fi
[ -z "$names" ] || echo "failed:$names"
[ -z "${TEST_TALLY:-}" ] || echo "$passed $failed $skipped" >>"$TEST_TALLY"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
