#!/usr/bin/env bash
# What takes too long for `make test`: the programs that tests/programs.txt calls long, all programs under
# both sanitizers at once, and a sample of the mutants. Goes on after a failure, and ends with the counts of all
# three as one line, "N passed, N failed, N skipped"; a mutant counts as a test that passes when it is killed.
#   tests/long.sh BUILD
# Not part of it, because it takes hours or an idle machine: all mutants (`make mutants`), both corpora at
# published sizes with their controls (`make corpus`), fuzzing (`make fuzz`), measurements (`make bench`).
# TEST_MUTANTS: size of the sample (default 6). TEST_UNTIL: as in tests/run.sh; a part that is not begun by then counts
# as one skipped test.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
b=${1:?usage: tests/long.sh BUILD}
whole=${TEST_TALLY:-} # of the run that this one is part of
tally=$(mktemp)
export TEST_TALLY=$tally
trap 'rm -f "$tally"' EXIT
failed=()
part() {
  echo "== $1"
  if [ -n "${TEST_UNTIL:-}" ] && [ "$(date +%s)" -ge "$TEST_UNTIL" ]; then
    echo "not run, since no time was left (TEST_UNTIL)"
    echo "0 0 1" >>"$tally"
    return
  fi
  shift
  "$@" || failed+=("$*")
}
part 'programs that take long' tests/run.sh "$b" --long
part 'all programs, sanitized' make --no-print-directory sanitize
part "${TEST_MUTANTS:-6} mutants" tests/mutants.sh --sample "${TEST_MUTANTS:-6}"
[ -z "$whole" ] || cat "$tally" >>"$whole"
[ ${#failed[@]} -eq 0 ] || printf 'failed: %s\n' "${failed[@]}"
tests/run.sh --sum "$tally" && [ ${#failed[@]} -eq 0 ]
