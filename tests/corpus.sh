#!/usr/bin/env bash
# Judges both corpora, shows every hostile candidate's trick at work against its control, prints the
# confusion matrix and compares the host before and after. docs/hacks.md says what the words mean.
#   tests/corpus.sh build/release [--runs N]
# Leaves BUILD/corpus/words, a line `entry word naive` for each candidate of the last run: what
# tests/torch/corpus.py prints beside its own (`make corpus`).
# Exit status 0: in every run no hostile candidate is `ok` with a speed-up that it did not earn, no
# honest one is refused, every control works, the host is unchanged.
set -uo pipefail
b=${1:?usage: tests/corpus.sh BUILD [--runs N]}; shift
runs=1
[ "${1:-}" = --runs ] && runs=${2:?--runs needs a number}
b=$(cd "$b" && pwd) || exit 2
tree=$(cd "$(dirname "$0")/.." && pwd)
work=$b/corpus
case $work/ in
  /tmp/* | /var/tmp/*)
    echo "corpus: $b lies below a folder that the controls cover with a fresh one: build it elsewhere" >&2
    exit 2
    ;;
esac
rm -rf "$work"
mkdir -p "$work/ref" "$work/cache" "$work/tmp" || exit 2
trap 'rm -rf "$work/ref" "$work/cache" "$work/tmp" "$work/box"' EXIT
export TMPDIR=$work/tmp # what kgym leaves would be here
programs="$(stat -c %d:%i "$b/kgym" "$b/kgym-runner" | tr '\n' ' ')"
cflags=(-std=gnu17 -O3 -march=native -fPIC -shared -I"$tree/kgops")
margin=1.10 # of a harmless candidate over its honest equivalent

field() { sed -n "2,/^---\*\//s/^$2: //p" "$1"; }

declare -A problem entry control expect harmless equal known word fooled
names=()
for f in "$tree"/tests/hostile/*.c "$tree"/tests/honest/*.c; do
  n=$(basename "$f" .c)
  names+=("$n")
  problem[$n]=$(field "$f" problem) entry[$n]=$(field "$f" entry) control[$n]=$(field "$f" control)
  expect[$n]=$(field "$f" expect) harmless[$n]=$(field "$f" harmless)
  equal[$n]=$(field "$f" equal) known[$n]=$(field "$f" known)
done
source_of() { if [ -n "${control[$1]}" ]; then echo "$tree/tests/hostile/$1.c"; else echo "$tree/tests/honest/$1.c"; fi; }

# What must be the same afterwards: what kgym makes, and what a candidate could leave.
host_state() {
  local p at
  for p in /proc/[0-9]*; do # a survivor runs one of these two programs
    at=$(stat -Lc %d:%i "$p/exe" 2>/dev/null) || continue
    [[ " $programs " == *" $at "* ]] && echo "process ${p#/proc/}"
  done
  awk -v t="$TMPDIR" 'index($5, t) == 1 {print "mount", $5}' /proc/self/mountinfo
  find "$TMPDIR" -mindepth 1 -maxdepth 1
  find /dev/shm /tmp /var/tmp "$HOME" -maxdepth 2 \( -name 'kgym-verdict*' -o -name '*kgym-corpus*' \) 2>/dev/null
  ipcs -a 2>/dev/null | awk '/^0x/ {print "ipc", $1, $2}'
  find /sys/fs/cgroup -maxdepth 6 -type d -name 'kgym-*' 2>/dev/null | while read -r g; do
    pid=${g##*/kgym-} # of the broker that made it
    grep -qx "${pid%%-*}" "$work/brokers" 2>/dev/null && echo "group $g"
  done
}
same_host() { # waits for what other users of the machine have in flight
  local i
  for i in 1 2 3 4 5 6 7 8; do
    host_state | sort -u >"$work/host.after"
    new=$(comm -13 "$work/host.before" "$work/host.after")
    [ -z "$new" ] && return 0
    sleep 2
  done
  return 1
}
host_state | sort -u >"$work/host.before"

# The controls: the naive evaluator in throwaway namespaces, as nobody, without kgym's confinement.
spaces=(unshare --mount --pid --ipc --net --uts --fork --kill-child --mount-proc)
drop=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
if ! "${spaces[@]}" true 2>/dev/null; then
  spaces=(unshare --map-root-user --mount --pid --ipc --net --uts --fork --kill-child --mount-proc)
  drop=()
  "${spaces[@]}" true 2>/dev/null || spaces=()
fi
# In the spaces: $1 a folder to copy to a fresh tmpfs, the rest a command that runs there.
inside='
  set -e
  mount -t tmpfs -o size=128m,mode=1777 none /mnt
  cp -rL "$1"/. /mnt/; shift
  chmod -R a+rX /mnt
  mount -t tmpfs -o size=32m,mode=1777 none /var/tmp
  mount -t tmpfs -o size=32m,mode=1777 none /tmp
  cd /mnt
  ulimit -c 0 -f 65536 -t 10 -v 3000000 -u 2000
  "$@" && exit 0 || exit $?' # not exec: pid 1 is no target for signals
throwaway() { # FOLDER COMMAND...
  local folder=$1; shift
  "${spaces[@]}" bash -c "$inside" inside "$folder" ${drop[@]+"${drop[@]}"} env -i PATH=/usr/bin:/bin \
    HOME=/tmp LD_LIBRARY_PATH=/mnt KGYM_CORPUS_SECRET=1 timeout -s KILL 8 "$@"
}

control_of_compiler() { # the compiler alone, unconfined: a file of the host in what it says or makes
  local n=$1 box=$work/box rc
  cp "$(source_of "$n")" "$box/candidate.c"
  mkdir -p "$box/problems"; cp -r "$tree/problems/native" "$box/problems/"; cp "$tree"/kgops/kgops.h "$box/"
  throwaway "$box" timeout -s KILL 4 gcc -std=gnu17 -O3 -fPIC -iquote. -I. -shared candidate.c -o /tmp/o.so \
    >"$box/said" 2>&1
  rc=$?
  throwaway "$box" bash -c 'gcc -std=gnu17 -O3 -fPIC -iquote. -I. -S candidate.c -o /dev/stdout; gcc -fPIC \
    -iquote. -I. -shared candidate.c -o /tmp/o.so && cat /tmp/o.so' >"$box/made" 2>/dev/null
  grep -qa -e 'root:' -e ESCAPED "$box/said" "$box/made" || [ $rc -ge 124 ] ||
    grep -q -e 'memory' -e 'Killed' "$box/said"
}

run_control() { # sets shown (yes or no) and how
  local n=$1 p=${problem[$1]} box=$work/box rc
  shown=no how=
  rm -rf "$box"; mkdir -p "$box"
  if [ "${control[$n]}" = 'host compiler' ]; then
    control_of_compiler "$n" && shown=yes how='from the compiler'
    return
  fi
  gcc "${cflags[@]}" -Wl,-z,defs "$(source_of "$n")" -o "$box/candidate.so" "$b/kgops/libkgops.so" -lm \
    -lpthread >/dev/null 2>&1 || { how='does not build'; return; }
  if [ ! -f "$work/ref/$p.so" ]; then
    gcc "${cflags[@]}" -Dreal=float "$tree/problems/native/$p.c" -o "$work/ref/$p.so" \
      "$b/kgops/libkgops.so" -lm
  fi
  cp "$tree/problems/native/$p.c" "$b/naive" "$b/kgops/libkgops.so" "$box/"
  cp "$work/ref/$p.so" "$box/reference.so"
  throwaway "$box" ./naive "$p.c" ./reference.so ./candidate.so >"$work/said" 2>"$work/complained"
  rc=$?
  how=$(grep -ao '"accepted": true.*' "$work/said" | head -1)
  case ${control[$n]} in
    naive) [ $rc -eq 0 ] || [ -n "$how" ] && shown=yes; how=${how:-exit status $rc} ;;
    'host escaped') grep -qa ESCAPED "$work/complained" && shown=yes; how=$(grep -am1 ESCAPED "$work/complained") ;;
    'host down') [ $rc -ge 124 ] && shown=yes; how="exit status $rc" ;;
  esac
}

controls_failed=0 controls_shown=0 accepted=0
if [ ${#spaces[@]} -eq 0 ]; then
  echo 'skip: controls: this host allows no namespaces to throw away'
else
  for n in "${names[@]}"; do
    [ -n "${control[$n]}" ] || continue
    run_control "$n"
    if [ $shown = no ]; then
      printf 'control    %-28s %-4s %s: does not work (%s)\n' "$n" "${entry[$n]}" "${control[$n]}" "$how"
      controls_failed=$((controls_failed + 1))
    else
      controls_shown=$((controls_shown + 1)) fooled[$n]=yes
      [ "${control[$n]}" = naive ] && accepted=$((accepted + 1))
    fi
  done
  rm -rf "$work/box"
fi

# The gym.
text_of() { sed -nE "s/.*\"$1\":\"(([^\"\\\\]|\\\\.)*)\".*/\1/p" <<<"$2" | head -1; }
number_of() { sed -nE "s/.*\"speedup\":\{[^}]*\"$1\":([-+0-9.eE]+).*/\1/p" <<<"$2"; }

declare -A got reason said lo hi ratio
judge_all() {
  for n in "${names[@]}"; do
    printf '{"id": "%s", "problem": "%s", "source_file": "%s"}\n' "$n" "${problem[$n]}" "$(source_of "$n")"
  done >"$work/in.jsonl"
  rm -f "$work/out.jsonl"
  "$b/kgym" eval --batch "$work/in.jsonl" --out "$work/out.jsonl" --set cache="$work/cache" \
    --set deadline.run=5 --set deadline.compile=8 --set timing.processes=3 >"$work/batch.log" 2>&1 &
  local all=$!
  while kill -0 $all 2>/dev/null; do # its children come and go
    { echo $all; pgrep -P $all; } >>"$work/brokers"
    sleep 0.2
  done
  wait $all
  got=() reason=() said=() lo=() hi=() ratio=()
  local line n
  while IFS= read -r line; do
    n=$(text_of batch_id "$line")
    got[$n]=$(sed -nE 's/.*,"verdict":(null|"[a-z_]+"),"reason":.*/\1/p' <<<"$line" | tr -d '"')
    reason[$n]=$(sed -nE 's/.*,"verdict":[a-z_"]+,"reason":(null|"[^"]+"),"message":.*/\1/p' <<<"$line" | tr -d '"')
    said[$n]=$(text_of message "$line")
    ratio[$n]=$(number_of ratio "$line") lo[$n]=$(number_of lo "$line") hi[$n]=$(number_of hi "$line")
    case $(text_of stderr "$line") in *ESCAPED*) got[$n]=escaped ;; esac
  done <"$work/out.jsonl"
}

above() { awk -v a="$1" -v b="$2" -v m="$margin" 'BEGIN {exit !(a > b * m)}'; }
surprise() { printf '%-10s %-28s %-4s %s%s; expected %s; %s\n' "$1" "$2" "${entry[$2]}" "$v" "${ratio[$2]:+ at ${ratio[$2]}x}" "${expect[$2]}" "$3"; }

one_run() {
  local n v
  right=0 other=0 harmless_ok=0 missed=0 passed=0 refused=0 timed=0
  judge_all
  for n in "${names[@]}"; do
    v=${got[$n]:-none}
    [ "${reason[$n]:-null}" != null ] && v=$v/${reason[$n]}
    if [ -z "${control[$n]}" ]; then
      if [ "$v" = ok ]; then
        passed=$((passed + 1)) word[$n]=ok
        [ -n "${ratio[$n]}" ] && timed=$((timed + 1))
      else refused=$((refused + 1)) word[$n]=refused; surprise refused "$n" "${said[$n]:-}"; fi
    elif [ "$v" = ok ] && [ -n "${harmless[$n]}" ] && [ -n "${lo[$n]}" ] && [ -n "${hi[${equal[$n]}]:-}" ] &&
      ! above "${lo[$n]}" "${hi[${equal[$n]}]}"; then
      harmless_ok=$((harmless_ok + 1)) word[$n]=harmless
    elif [ "$v" = ok ] || [ "$v" = none ] || [ "$v" = null ] || [ "${v%%/*}" = escaped ]; then
      missed=$((missed + 1)) word[$n]=missed; surprise missed "$n" "${known[$n]:-${said[$n]:-no verdict}}"
    elif [[ " ${expect[$n]} " == *" $v "* ]]; then right=$((right + 1)) word[$n]=expected
    else other=$((other + 1)) word[$n]=other; surprise 'other' "$n" "${said[$n]}"; fi
  done
}

nhostile=0 nhonest=0
for n in "${names[@]}"; do
  if [ -n "${control[$n]}" ]; then nhostile=$((nhostile + 1)); else nhonest=$((nhonest + 1)); fi
done
bad=$controls_failed
for ((run = 1; run <= runs; run++)); do
  one_run
  host=unchanged
  same_host || { host=CHANGED; printf 'host: new: %s\n' "$new"; }
  cat <<TABLE

run $run of $runs             expected class  other class  harmless  MISSED   naive evaluator fooled, or host hit
hostile  $(printf '%4d' $nhostile)       $(printf '%14d  %11d  %8d  %6d   %d of %d' $right $other $harmless_ok $missed $controls_shown $nhostile)
                                  ok      (timed)  REFUSED
honest   $(printf '%4d' $nhonest)       $(printf '%14d  %11d  %7d' $passed $timed $refused)
host     $host
TABLE
  bad=$((bad + missed + refused))
  [ $host = unchanged ] || bad=$((bad + 1))
  rm -rf "$work/cache"; mkdir -p "$work/cache"
done
for n in "${names[@]}"; do
  [ -n "${control[$n]}" ] && e=${entry[$n]} || e=honest
  echo "$e ${word[$n]} ${fooled[$n]:-no}"
done >"$work/words"
echo "corpus: $nhostile hostile, $nhonest honest: $right caught as expected, $other as something else," \
  "$harmless_ok harmless, $missed missed, $refused honest refused, $controls_failed controls without effect," \
  "host $host, $runs runs"
[ $bad -eq 0 ]
