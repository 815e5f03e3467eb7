#!/usr/bin/env bash
# Does the demo show its effect on problems that no choice was made on? Seeds 0 to 3 with the second part of the pairs
# held out (part=1), and two controls at equal seconds: a reward for correctness only, and a second sample without
# feedback in place of turn 2. Writes a Markdown table of all results for docs/demo.md.
#
#   tools/demo-check.sh [--table] [--set key=value]...
#
#   --table      run nothing: judge the runs that are in the folder
#   JOBS=N       runs side by side, each bound to 2 cores of its own (default 1). Timing needs idle cores
#   OUT=FOLDER   of the runs (default runs/demo-check). A run that is finished there is not repeated
#   SEEDS="0 1"  other seeds (default 0 1 2 3)
#   KINDS="demo" only these kinds of runs (default demo correct-only second-sample)
#   CONFIG=FILE  another configuration than configs/demo.yaml
#
# The effect of a run: on held-out pairs the 95 % interval of the difference in fast_1.2, best of turns, lies above 0;
# correct fell by at most .1; at least 18 of 20 kernels held when the preset `default` judged them again.
# Exit status: 0 when at least three of four seeds show it, 1 when not, 2 when a run failed or the sets are not apart.
set -euo pipefail
cd "$(dirname "$0")/.."
run=yes sets=()
while [ $# -gt 0 ]; do
  case $1 in
  --table) run=no ;;
  --set) sets+=(--set "${2:?--set needs key=value}"); shift ;;
  *) echo "demo-check: no option $1" >&2; exit 2 ;;
  esac
  shift
done
kgym=${KGYM_HOME:-build/release}/kgym
out=${OUT:-runs/demo-check} jobs=${JOBS:-1} config=${CONFIG:-configs/demo.yaml}
read -ra seeds <<<"${SEEDS:-0 1 2 3}"
part=1 # configs/demo.yaml holds part 0 out, and all choices were made on it
export KGYM_CACHE=${KGYM_CACHE:-$PWD/build/cache/kgym}
mkdir -p "$out"

# NAME of a kind of run, and the keys that make it.
read -ra kinds <<<"${KINDS:-demo correct-only second-sample}"
keys_of() {
  case $1 in
  demo) ;;
  correct-only) echo --set reward=correct ;;
  second-sample) echo --set feedback=off ;;
  *) return 2 ;;
  esac
}

# No pair that is held out here is one of those that choices were made on.
check_apart() {
  local split dir
  split=$("$kgym" train "$config" --dump ${sets[@]+"${sets[@]}"} | sed -n 's/^split: *//p')
  dir=$(mktemp -d)
  for p in 0 $part; do
    "$kgym" problems generate chains --out "$dir/$p" --seed "${split:-1}" --part "$p" --triples 0 >/dev/null
    find "$dir/$p/held-out" -name '*.c' -printf '%f\n' | sort >"$dir/list$p"
  done
  comm -12 "$dir/list0" "$dir/list$part" >"$dir/both"
  echo "demo-check: $(wc -l <"$dir/list$part") pairs are held out; $(wc -l <"$dir/both") of them were held out before"
  [ -s "$dir/list$part" ] && [ ! -s "$dir/both" ] || { rm -rf "$dir"; return 1; }
  rm -rf "$dir"
}

# One run on the cores of a lane, then its report. A finished one is left alone.
one() { # KIND SEED LANE
  local folder=$out/$1-$2 lane=$3 words bind=() first
  grep -qs '"phase":"end"' "$folder/metrics.jsonl" && [ -e "$folder/recheck.json" ] && return 0
  rm -rf "$folder"
  read -ra words <<<"$(keys_of "$1")"
  if [ "$jobs" -gt 1 ]; then
    first=$((2 * lane))
    bind=(taskset -c "$first,$((first + 1))")
  fi
  "${bind[@]}" "$kgym" train "$config" --out "$folder" --set "seed=$2" --set "part=$part" --set threads=2 \
    ${words[@]+"${words[@]}"} ${sets[@]+"${sets[@]}"} >"$folder.log" 2>&1 || return 1
  "${bind[@]}" "$kgym" report "$folder" --recheck 20 >>"$folder.log" 2>&1
}

# Lane L takes every jobs-th run.
lane() { # LANE
  local i=0 bad=0
  for s in "${seeds[@]}"; do
    for k in "${kinds[@]}"; do
      if [ $((i++ % jobs)) = "$1" ]; then
        one "$k" "$s" "$1" || { echo "demo-check: $k, seed $s failed: $out/$k-$s.log" >&2; bad=1; }
        echo "demo-check: $k, seed $s done"
      fi
    done
  done
  return $bad
}

run_all() {
  local pids=() bad=0
  [ "$((2 * jobs))" -le "$(nproc)" ] || { echo "demo-check: JOBS=$jobs needs $((2 * jobs)) cores" >&2; exit 2; }
  for ((l = 0; l < jobs; l++)); do
    lane "$l" &
    pids+=($!)
  done
  for p in "${pids[@]}"; do wait "$p" || bad=2; done
  return $bad
}

read -r -d '' row <<'JQ' || true
def n(d): if . == null then "–" else (. * pow(10; d) | round / pow(10; d) | tostring) end;
def signed: if . == null then "–" else (if . >= 0 then "+" else "" end) + n(3) end;
def change: "\(.before | n(3)) → \(.after | n(3))";
def interval: "\(.difference[0] | signed) [\(.difference[1] | signed), \(.difference[2] | signed)]";
.parts.pairs.views.best as $p | (.parts.triples.views.best // {}) as $t |
"| \($kind) | \($seed) | \(.steps) | \($p.correct | change) | \($p["fast_1.1"] | change) | \($p["fast_1.2"] | change) | \($p["fast_1.2"] | interval) | \($p.geomean | change) | \($p.coverage | change) | \($p.lazy | change) | \($p.hack | change) | \(if $t["fast_1.2"] then $t["fast_1.2"] | interval else "–" end) | \(.recheck.held // "–") of \(.recheck.n // "–") | \(if .effect then "yes" else "no" end) |"
JQ
read -r -d '' turns <<'JQ' || true
def n(d): if . == null then "–" else (. * pow(10; d) | round / pow(10; d) | tostring) end;
def cell: "\(.before | n(3)) → \(.after | n(3))";
.parts.pairs.views | to_entries | map("\(.key): \(.value["fast_1.2"] | cell)") | "| \($kind) | \($seed) | \(join("; ")) |"
JQ
read -r -d '' styles <<'JQ' || true
def forms: to_entries | map({key: (.key | split(" ")[0]), value}) | group_by(.key)
  | map({key: .[0].key, value: (map(.value) | add)}) | from_entries;
def share(o): (o | add // 0) as $all | o | map_values(if $all > 0 then . / $all * 1000 | round / 1000 else 0 end);
(.styles.before | share(forms)) as $b | (.styles.after | share(forms)) as $a |
($b + $a | keys | map("\(.) \($b[.] // 0) → \($a[.] // 0)") | join("; ")) as $all |
"| \($kind) | \($seed) | \($all) |"
JQ

# Each run's numbers in one line, KIND SEED JSON; no JSON where a run failed or is not there.
collect() {
  local k s
  for k in "${kinds[@]}"; do
    for s in "${seeds[@]}"; do
      printf '%s\t%s\t%s\n' "$k" "$s" "$("$kgym" report "$out/$k-$s" --json 2>/dev/null || true)"
    done
  done
}

# Tables of all runs, and in $shown the number of seeds of the demo that show the effect.
table() {
  local k s json what all
  all=$(collect)
  shown=0 missing=0
  echo '| run | seed | steps | correct | fast_1.1 | fast_1.2 | difference [95 %] | geometric mean | coverage | lazy | hack | fast_1.2 on triples | held | effect |'
  echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|'
  while IFS=$'\t' read -r k s json; do
    if [ -z "$json" ]; then
      echo "| $k | $s | failed or not there | | | | | | | | | | | |"
      [ "$k" != demo ] || missing=$((missing + 1))
      continue
    fi
    jq -r --arg kind "$k" --arg seed "$s" "$row" <<<"$json"
    [ "$k" != demo ] || [ "$(jq '.effect and (.failed | not) and .recheck.n >= 20' <<<"$json")" != true ] ||
      shown=$((shown + 1))
  done <<<"$all"
  for what in "$turns" "$styles"; do
    echo
    [ "$what" = "$turns" ] && echo '| run | seed | fast_1.2 on pairs by turn |' ||
      echo '| run | seed | share of styles by form, before → after |'
    echo '|---|---|---|'
    while IFS=$'\t' read -r k s json; do
      [ -z "$json" ] || jq -r --arg kind "$k" --arg seed "$s" "$what" <<<"$json"
    done <<<"$all"
  done
}

for k in "${kinds[@]}"; do keys_of "$k" >/dev/null || { echo "demo-check: KINDS: no kind $k" >&2; exit 2; }; done
check_apart || { echo 'demo-check: the held-out sets are not apart' >&2; exit 2; }
failed=0
[ $run = no ] || run_all || failed=$?
table >"$out/table.md"
cat "$out/table.md"
echo
need=$(((3 * ${#seeds[@]} + 3) / 4))
echo "demo-check: $shown of ${#seeds[@]} seeds show the effect, $need are needed; the table is $out/table.md"
[ "$failed" = 0 ] && [ "$missing" = 0 ] || exit 2
[ "$shown" -ge "$need" ]
