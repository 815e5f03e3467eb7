#!/usr/bin/env bash
# Pages that people read: lines of at most 140 columns outside tables and code blocks; links, and files
# of the tree that a page or a comment names, are there; no rule is cited from a document that is not
# in the tree. Pages named in prose.txt may have longer lines; it says why.
source "$(dirname "$0")/lib.sh"
export LC_ALL=C.UTF-8
bad=0
complain() { echo "$1"; bad=$((bad + 1)); }
exempt=$(grep -v '^#' tools/check/prose.txt 2>/dev/null)

# A page's lines outside code blocks, "NUMBER:TEXT"; with "tables", table rows too.
lines() {
  awk -v tables="${2:-}" '/^[ \t]*(```|~~~)/ { code = !code; next }
    code || (/^[ \t]*\|/ && !tables) { next }
    { print FNR ":" $0 }' "$1"
}

# Is there a file or folder of this name, or one that a pattern with * stands for?
there() { [ -e "$1" ] || { [[ $1 == *\** ]] && compgen -G "$1" >/dev/null; }; }

folders='src|harness|tests|tools|docs|bench|fuzz|problems|kgops|demo|examples'
while IFS= read -r page; do
  if ! grep -qxF "$page" <<<"$exempt"; then
    while IFS=: read -r n _; do complain "$page:$n: line of more than 140 columns"; done \
      < <(lines "$page" | grep -E '^[0-9]+:.{141,}')
  fi
  while IFS=: read -r n link; do
    link=${link#](} link=${link%)} link=${link%%#*}
    [ -z "$link" ] || there "$(dirname "$page")/$link" || complain "$page:$n: link to $link, which is not there"
  done < <(lines "$page" tables | grep -oE '^[0-9]+:|\]\([^)[:space:]]+\)' |
    awk '/^[0-9]+:$/ { n = $0; next } !/^\]\((https?|mailto):/ { print n $0 }')
  while IFS=: read -r n path; do
    there "${path%.}" || complain "$page:$n: names $path, which is not there"
  done < <(lines "$page" tables | grep -oP "^[0-9]+:|(?<![A-Za-z0-9_./~\$-])($folders)/[a-z0-9_*./-]+(?![A-Za-z0-9_<{])" |
    awk '/^[0-9]+:$/ { n = $0; next } { print n $0 }')
done < <(files | grep '\.md$' | grep -v -E '^(tests|fuzz|demo|problems)/')

while IFS=: read -r f n page; do
  [ -e "$page" ] || complain "$f:$n: names $page, which is not there"
done < <(files | grep -E '^(src|harness|kgops|bench|Makefile$)' | tr '\n' '\0' |
  xargs -0 -r grep -I -H -n -oE '\bdocs/[a-z0-9_-]+\.md' /dev/null)
elsewhere="\b[Cc]ontracts\b|\b(in|of|by|Source:) (the )?contract\b|\bcontract('s| order| of the)\b"
while IFS= read -r hit; do
  complain "${hit:0:120}: cite the page of this project that has the rule"
done < <({ files | grep -E '^(src|harness|tests|tools|bench)/.*\.(c|h|cu|py|sh)$' | grep -v '/prose\.sh$'
  files | grep -E '^[^/]*\.md$|^docs/.*\.md$' | grep -v '^docs/style\.md$'; } | tr '\n' '\0' |
  xargs -0 -r grep -I -H -n -P "$elsewhere" /dev/null)
verdict prose "$bad" "faults in pages"
