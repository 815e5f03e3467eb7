#!/usr/bin/env bash
# Do two builds judge alike? Both judge the same candidates with the same seed, and what their records say is
# compared: verdict, reason, error code, status of each stage, and the rewards that no time enters (binary,
# staged). Sets: `demo` (demo/replies.jsonl), `torch` (problems/torch_candidates), `kernelbench` (the same by
# preset kernelbench).
#   The inputs that a worker keeps for a problem are drawn without the seed, so a candidate near a limit may get
# another reason in each run. Where two records differ, both builds replay both of them, on the same inputs
# therefore. The candidate counts as judged otherwise if the builds differ there.
#   tools/same-records.sh OLD NEW [SET ...]     OLD, NEW: build folders, such as build/release
# OUT=FOLDER keeps the records there; those of OLD that are there are not made again. JOBS: as many at once.
# ONLY=REGEX: of torch and kernelbench, only candidates whose line of the batch matches.
# Without torch (`make torch`) only `demo` is judged, and it is said. Exit status: 0 alike, 1 not, 2 it failed.
set -uo pipefail
old=$(cd "${1:?usage: tools/same-records.sh OLD NEW [SET ...]}" && pwd) || exit 2
new=$(cd "${2:?usage: tools/same-records.sh OLD NEW [SET ...]}" && pwd) || exit 2
shift 2
tree=$(cd "$(dirname "$0")/.." && pwd)
python=${KGYM_PYTHON:-$tree/.venv/bin/python}
[ -x "$python" ] || python=python3
sets=("$@")
if [ $# -eq 0 ]; then
  sets=(demo torch kernelbench)
  "$python" -c 'import torch' 2>/dev/null ||
    { echo "skip: torch, kernelbench: $python has no torch: make torch"; sets=(demo); }
fi
if [ -n "${OUT:-}" ]; then mkdir -p "$OUT" && out=$(cd "$OUT" && pwd); else out=$(mktemp -d); fi
[ -n "$out" ] || exit 2
[ -n "${OUT:-}" ] || trap 'rm -rf "$out"' EXIT

# Lines of a batch: each shipped candidate with the problem that it is for.
torch_lines() {
  local f base kind candidate
  for f in "$tree"/problems/torch/*/*.py; do
    base=$(basename "$f" .py)
    for kind in fast wrong; do
      candidate=$tree/problems/torch_candidates/${base#*_}.$kind.py
      [ ! -f "$candidate" ] ||
        printf '{"id": "%s.%s", "problem": "%s", "source_file": "%s"}\n' "$base" "$kind" "$f" "$candidate"
    done
  done
}

# judge SET BUILD RECORDS LINES
judge() {
  local preset=default more=(--set "rewards=binary,staged" --set timing.budget=2)
  [ "$1" != kernelbench ] || preset=kernelbench more=(--set timing.trials=3)
  KGYM_HOME=$2 KGYM_PYTHON=$python "$2/kgym" eval --batch "$4" --out "$3" --jobs "${JOBS:-$(nproc)}" \
    --preset "$preset" --set seed=00112233445566778899aabbccddeeff --set "cache=$out/cache" "${more[@]}" \
    --set "suites=$tree/problems/native:$tree/problems/torch" 2>"$3.log"
  local status=$?
  [ -s "$3" ] || { echo "same-records: $2 wrote no records (exit status $status):"; tail -5 "$3.log"; exit 2; }
}

# One line for each record: what is compared, by field.
facts() {
  jq -r '[.batch_id, "verdict=\(.verdict)", "reason=\(.reason)", "error=\(.error.code? // null)",
          (.stages[] | "\(.name)=\(.status)"),
          ((.rewards // {}) | if type == "array" then .[] | "\(.name)=\(.value)"
                              else to_entries[] | "\(.key)=\(.value.value? // .value)" end)] | join(" ")' "$1"
}

# replay SET BUILD RECORDS LINES ID: what a build says of that candidate on the inputs of that record.
replay() {
  local problem file preset=default
  [ "$1" != kernelbench ] || preset=kernelbench
  jq -c --arg id "$5" 'select(.batch_id == $id)' "$3" >"$out/record.json"
  problem=$(jq -r --arg id "$5" 'select(.id == $id) | .problem' "$4")
  file=$(jq -r --arg id "$5" 'select(.id == $id) | .source_file // .reply_file' "$4")
  (cd "$(dirname "$4")" && KGYM_HOME=$2 KGYM_PYTHON=$python "$2/kgym" eval --json --replay "$out/record.json" \
    --preset "$preset" --set "cache=$out/cache" --set "suites=$tree/problems/native:$tree/problems/torch" \
    --set rewards= --stop-after full "$problem" "$file") >"$out/again.json" 2>"$out/again.log"
  facts "$out/again.json" | cut -d ' ' -f 2-
}

different=0
for s in "${sets[@]}"; do
  case $s in
    demo) lines=$tree/demo/replies.jsonl ;;
    torch | kernelbench) lines=$out/torch-in.jsonl; torch_lines | grep -E -- "${ONLY:-.}" >"$lines" ;;
    *) echo "same-records: no set \`$s\` (demo, torch, kernelbench)"; exit 2 ;;
  esac
  rm -f "$out/$s.new.jsonl"
  judge "$s" "$old" "$out/$s.old.jsonl" "$lines"
  judge "$s" "$new" "$out/$s.new.jsonl" "$lines"
  for side in old new; do facts "$out/$s.$side.jsonl" | sort >"$out/$s.$side.txt" || exit 2; done
  n=$(wc -l <"$lines") wrong=0
  for side in old new; do
    [ "$(wc -l <"$out/$s.$side.txt")" = "$n" ] || { echo "$s: not every line has a record of $side"; different=1; }
  done
  for id in $(diff "$out/$s.old.txt" "$out/$s.new.txt" | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' | sort -u); do
    same=yes
    for side in old new; do
      echo "$s: $id: $side: $(awk -v id="$id" '$1 == id' "$out/$s.$side.txt" | cut -d ' ' -f 2-)"
      was=$(replay "$s" "$old" "$out/$s.$side.jsonl" "$lines" "$id")
      is=$(replay "$s" "$new" "$out/$s.$side.jsonl" "$lines" "$id")
      seen=$(awk -v id="$id" '$1 == id' "$out/$s.$side.txt" | cut -d ' ' -f 2-4)
      if [ "$was" != "$is" ] || [ "$(cut -d ' ' -f 1-3 <<<"$was")" != "$seen" ]; then # or no replay of it
        same=no
        printf '  on the inputs of that record: old: %s\n                                new: %s\n' "$was" "$is"
      fi
    done
    # A replay ends with the full run: what comes after it is compared where both came as far.
    later() { awk -v id="$id" '$1 == id' "$out/$s.$1.txt" | grep -o 'full=pass timing=.* profile=[a-z]*'; }
    ends=$(later old) && [ -n "$(later new)" ] && [ "$ends" != "$(later new)" ] && same=no
    if [ $same = yes ]; then
      echo "$s: $id: alike on the same inputs"
    else
      wrong=$((wrong + 1)) different=1
      echo "$s: $id: JUDGED OTHERWISE"
    fi
  done
  echo "$s: $n candidates, $wrong judged otherwise"
done
exit $different
