#!/usr/bin/env bash
# Planted faults: applies each patch of tests/mutants/ to a fresh copy of the tree and runs the tests
# that its header names. They must notice: a mutant that every named test passes, twice, has survived (some
# tests draw what they ask, and notice by chance).
#   tests/mutants.sh [NAME ...]                 all mutants, or those named (with or without .patch)
#   tests/mutants.sh --sample N [--seed S]      N of them, drawn by a seed that is printed (default: the time)
#   tests/mutants.sh --list ...                 only print which ones
# Everything is written below build/mutants/: base/ is the tree as it is, built once and kept for the
# next run; one/ is the copy that is broken at the moment; log/ holds what each mutant printed.
# TEST_TALLY: a file that gets a line "KILLED OTHERS 0" (tests/run.sh --sum adds such lines up).
# Exit status: 0 all killed, 1 one survived, 2 something could not be judged.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
root=$PWD
work=$root/build/mutants
base=$work/base one=$work/one log=$work/log
export TEST_TIMEOUT=${TEST_TIMEOUT:-300}
# copies of the tree have no environment of their own
[ -x .venv/bin/python ] && export KGYM_PYTHON=${KGYM_PYTHON:-$root/.venv/bin/python}
tally=${TEST_TALLY:-} # the tests below are no tests of this tree
unset MAKEFLAGS MFLAGS MAKELEVEL VARIANT TEST_TALLY TEST_UNTIL

die() {
  echo "mutants: $*" >&2
  exit 2
}

field() { sed -n "s/^# $1: *//p" "$2"; }

# The tree's files with their times, so that make rebuilds in base/ only what changed.
copy_tree() {
  mkdir -p "$base" "$log"
  cmp -s Makefile "$base/Makefile" || rm -rf "$base/build" # other flags, other objects
  find "$base" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z -- . ':!tests/mutants' | while IFS= read -r -d '' f; do
    [ -e "$f" ] && printf '%s\0' "$f"
  done | tar --null -c -T - | tar -x -C "$base" || die "cannot copy the tree"
  if [ ! -d "$base/build/release/obj" ] && [ -d build/release/obj ]; then
    mkdir -p "$base/build/release"
    cp -a build/release/obj "$base/build/release/"
  fi
}

# build FOLDER TEST...: what the named tests need, and they themselves.
build() {
  local tree=$1
  shift
  make -C "$tree" -s -j2 all build/release/libfake{cuda,cupti,nvml}.so "${@/#/build/release/tests/}" >"$log/make" 2>&1
}

run_tests() {
  local tree=$1
  shift
  (cd "$tree" && tests/run.sh build/release "$@")
}

# Prints what became of the mutant, and by which tests: "killed test_compare".
judge() {
  local patch=$1 name=$2 tests
  read -ra tests <<<"$(field tests "$patch")"
  rm -rf "$one"
  cp -a "$base" "$one" || { echo "broken copy"; return; }
  rm -rf "$one/build/release/tests"
  if ! patch -d "$one" -p1 -f -s -F1 --no-backup-if-mismatch <"$patch" >"$log/$name" 2>&1; then
    echo "broken does not apply"
  elif ! build "$one" "${tests[@]}"; then
    mv "$log/make" "$log/$name"
    echo "broken does not compile"
  elif TEST_RETRY=0 run_tests "$one" "${tests[@]}" >"$log/$name" 2>&1 &&
    TEST_RETRY=0 run_tests "$one" "${tests[@]}" >"$log/$name" 2>&1; then
    echo "survived ${tests[*]}"
  else
    echo "killed $(awk '$2 == "FAILED" {printf "%s%s", sep, $1; sep = " "}' "$log/$name")"
  fi
}

command -v patch >/dev/null || die "the program \`patch\` is missing (Debian package patch)"
sample= seed=$(date +%s) list=no
while [[ ${1:-} == --* ]]; do
  case $1 in
  --sample) sample=${2:?--sample needs a number}; shift ;;
  --seed) seed=${2:?--seed needs a number}; shift ;;
  --list) list=yes ;;
  *) die "no option $1" ;;
  esac
  shift
done
patches=()
for name in "$@"; do
  patches+=("tests/mutants/${name%.patch}.patch")
done
[ $# -gt 0 ] || patches=(tests/mutants/*.patch)
if [ -n "$sample" ]; then
  echo "mutants: $sample of ${#patches[@]}, seed $seed"
  mapfile -t patches < <(printf '%s\n' "${patches[@]}" |
    awk -v seed="$seed" 'BEGIN {srand(seed)} {printf "%.9f %s\n", rand(), $0}' | sort | head -n "$sample" |
    cut -d ' ' -f 2 | sort)
fi
for p in "${patches[@]}"; do
  [ -f "$p" ] || die "$p: no such mutant"
  [ -n "$(field mutant "$p")" ] && [ -n "$(field tests "$p")" ] ||
    die "$p: its header lacks \`# mutant:\` or \`# tests:\`"
done
if [ $list = yes ]; then
  printf '%s\n' "${patches[@]}"
  exit 0
fi
read -ra all_tests <<<"$(for p in "${patches[@]}"; do field tests "$p"; done | tr ' ' '\n' | sort -u | tr '\n' ' ')"

# A test that fails without a mutant would seem to kill every one.
copy_tree
build "$base" "${all_tests[@]}" || { tail -20 "$log/make" >&2; die "the tree itself does not build"; }
if ! TEST_RETRY=1 run_tests "$base" "${all_tests[@]}" >"$log/base"; then
  grep -A 12 FAILED "$log/base" >&2
  die "without a mutant these tests fail already; see $log/base"
fi

killed=0 survived=0 broken=0
for p in "${patches[@]}"; do
  name=$(basename "$p" .patch) start=$SECONDS
  read -r fate by <<<"$(judge "$p" "$name")"
  case $fate in
  killed) killed=$((killed + 1)) ;;
  survived) survived=$((survived + 1)) ;;
  *) fate=BROKEN broken=$((broken + 1)) ;;
  esac
  [ "$fate" = survived ] && fate=SURVIVED
  printf '%-28s %-9s %-34s %3d s\n' "$name" "$fate" "$by" $((SECONDS - start))
  [ "$fate" = killed ] || echo "  $(field mutant "$p")"
done
rm -rf "$one"
echo "$killed killed, $survived survived, $broken broken"
[ -z "$tally" ] || echo "$killed $((survived + broken)) 0" >>"$tally"
[ "$broken" -eq 0 ] || exit 2
[ "$survived" -eq 0 ]
