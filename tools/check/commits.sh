#!/usr/bin/env bash
# A commit says what it does and why: its subject is `module: imperative` of at most 72 characters
# without a full stop, and one that changes src/ has a body.
#   tools/check/commits.sh [ROOT [BASE]]     all commits after BASE
#   tools/check/commits.sh --message FILE    the message of the commit that is being made (tools/hooks)
# BASE is the argument, else $KGYM_COMMITS_FROM, else the last commit before the rules began: older
# history stays as it is. A shallow clone that lacks BASE checks the commits that it has whole; any
# other repository that lacks it has another history, and nothing is checked.
first=1b2b910d8cff23d4cbb57cd1bdc9b8f1b995229b began=2026-11-26T08:20:08+00:00
export LC_ALL=C.UTF-8
bad=0
complain() { echo "$1: $2"; bad=$((bad + 1)); }

# judge WHO SUBJECT BODY CHANGES_SRC: complains about one message.
judge() {
  local word='[a-z0-9][a-z0-9_./-]*' first_word body
  [[ $2 =~ ^$word(,\ $word)*:\ [^\ ] ]] || complain "$1" "subject is not 'module: imperative': $2"
  [ ${#2} -le 72 ] || complain "$1" "subject has ${#2} characters, at most 72: $2"
  [[ $2 != *. ]] || complain "$1" "subject ends in a full stop: $2"
  first_word=${2#*: } first_word=${first_word%% *}
  case $first_word in
    add[se]* | adding | fix[ei]* | chang*[sdg] | remov*[sdg] | mak*[sg] | mov*[sdg] | us*[sdg] | updat*[sdg] | renam*[sdg])
      complain "$1" "subject is not in the imperative ('add', not 'adds' or 'added'): $2" ;;
  esac
  [ "$4" = yes ] || return 0
  body=$(grep -v -E '^[A-Z][A-Za-z-]*: |^#' <<<"$3" | tr -d '[:space:]')
  [ ${#body} -ge 20 ] || complain "$1" "changes src/ and has no body that says why: $2"
}

if [ "${1:-}" = --message ]; then
  text=$(sed '/^# -* >8 -*$/,$d' "${2:?a file}" | grep -v '^#' | sed '/./,$!d')
  subject=$(sed '/^$/,$d' <<<"$text" | tr '\n' ' ' | sed 's/ $//')
  case $subject in 'fixup! '* | 'squash! '* | 'amend! '* | 'Merge '* | 'Revert "'* | '') exit 0 ;; esac
  src=no
  git diff --cached --quiet -- src 2>/dev/null || src=yes
  judge commit "$subject" "$(sed '1,/^$/d' <<<"$text")" $src
  [ $bad -eq 0 ] || echo "The rules are in CONTRIBUTING.md, \"Commits\". The message is kept in $2." >&2
  exit $((bad > 0))
fi

base=${2:-${KGYM_COMMITS_FROM:-$first}}
source "$(dirname "$0")/lib.sh"
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$root" ] || { echo "no history here"; verdict commits 0; }
git rev-parse -q --verify HEAD >/dev/null || { echo "no commit yet"; verdict commits 0; }
range=("$base..HEAD")
if ! git cat-file -e "$base^{commit}" 2>/dev/null; then
  [ "$base" = "$first" ] || { echo "$base: no such commit"; verdict commits 1 "base missing"; }
  [ "$(git rev-parse --is-shallow-repository)" = true ] || { echo "another history"; verdict commits 0; }
  range=("--since=$began" HEAD)
fi
cut=$(cat "$(git rev-parse --git-path shallow)" 2>/dev/null) # commits whose parents a shallow clone lacks
src=$(git rev-list --no-merges --full-history "${range[@]}" -- src)
while IFS=$'\x1f' read -r -d $'\x1e' c subject body; do
  [[ $cut != *$c* ]] || continue
  [[ $src == *$c* ]] && changes=yes || changes=no
  judge "${c:0:7}" "$subject" "$body" $changes
done < <(git log --no-merges --reverse --format='tformat:%H%x1f%s%x1f%b%x1e' "${range[@]}" | sed -z 's/\x1e\n/\x1e/g')
verdict commits "$bad" "faults in messages (CONTRIBUTING.md, \"Commits\")"
