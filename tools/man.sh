#!/usr/bin/env bash
# Writes kgym's man pages: kgym(1), a page for each command from its --help, and pages of docs/. The
# option table reaches kgym-options(7) through docs/options.md, which `make docs` prints from it.
#   tools/man.sh build/release/kgym FOLDER
set -euo pipefail
kgym=$1 out=$2
cd_root=$(cd "$(dirname "$0")/.." && pwd)
awk=$cd_root/tools/man.awk docs=$cd_root/docs
version=$("$kgym" --version)

# Pages from docs/: file, name, section, one line.
pages="options kgym-options 7 every configuration key of kgym
presets kgym-presets 7 evaluation presets of kgym
rewards kgym-rewards 7 reward presets of kgym
prompts kgym-prompts 7 the first message for a model
training-loop kgym-training-loop 7 a complete training loop around kgym
feedback kgym-feedback 7 what kgym tells a model about its candidate
batches kgym-batches 7 judging many replies with kgym
timing kgym-timing 7 how kgym measures a speed-up
verification kgym-verification 7 how kgym decides that an answer is right
service kgym-service 7 judging replies over HTTP with kgym
security kgym-security 7 how kgym confines candidates
record kgym-record 5 the record of one evaluation, kgym.record/1
problems kgym-problem 5 problems in C for kgym
library kgym 3 judge kernels from a C program"

# Lines "NAME<tab>SUMMARY", as `kgym --help` lists the commands.
commands=$("$kgym" --help | sed -n 's/^  \([a-z][a-z]*\)  *\(.*\)$/\1\t\2/p')
[ -n "$commands" ] || { echo "man: \`$kgym --help\` lists no command" >&2; exit 1; }

quote() { sed 's/\\/\\e/g; s/-/\\-/g'; }
head_of() { # NAME SECTION SUMMARY
  printf "'\\\\\" -*- coding: UTF-8 -*-\n.TH %s %s \"\" \"%s\" \"kgym\"\n.ad l\n.nh\n.SH NAME\n%s \\- %s\n" \
    "$(tr a-z A-Z <<<"$1" | quote)" "$2" "$version" "$(quote <<<"$1")" "$(quote <<<"$3")"
}

see_also() { # all pages but NAME SECTION
  local list
  list=$({
    echo "kgym 1"
    while IFS=$'\t' read -r name _; do echo "kgym-$name 1"; done <<<"$commands"
    while read -r _ name section _; do echo "$name $section"; done <<<"$pages"
    echo "kgym-card 7"
  } | grep -vx "$1 $2" | quote | sed 's/^\(.*\) \(.*\)$/.BR \1 (\2),/')
  printf '.SH "SEE ALSO"\n%s\n' "${list%,}"
}

{
  head_of kgym 1 "$("$kgym" --help | sed -n '1s/^kgym [^:]*: *//p')"
  printf '.SH SYNOPSIS\n.B kgym\n.I COMMAND\n.RI [ ARGUMENTS ]\n.SH COMMANDS\n'
  while IFS=$'\t' read -r name summary; do
    printf '.TP\n.BR %s (1)\n%s\n' "$(quote <<<"kgym-$name")" "$(quote <<<"$summary")"
  done <<<"$commands"
  awk '/^## (Folders|Environment)/ {on = 1} /^## / && !/^## (Folders|Environment)/ {on = 0} on' \
    "$docs/install.md" | awk -v from=page -f "$awk" | sed '/^\.SH DESCRIPTION$/d'
  "$kgym" --help | sed -n '/^exit status/p' | awk -v from=help -f "$awk"
  see_also kgym 1
} >"$out/kgym.1"

while IFS=$'\t' read -r name summary; do
  {
    head_of "kgym-$name" 1 "$summary"
    "$kgym" "$name" --help | awk -v from=help -f "$awk"
    see_also "kgym-$name" 1
  } >"$out/kgym-$name.1"
done <<<"$commands"

{
  head_of kgym-card 7 "how to read the card that kgym eval prints"
  printf '.SH DESCRIPTION\n.nf\n'
  "$kgym" help card | quote | sed "s/^[.']/\\\\\&&/"
  printf '.fi\n'
  see_also kgym-card 7
} >"$out/kgym-card.7"

while read -r file name section summary; do
  {
    head_of "$name" "$section" "$summary"
    awk -v from=page -f "$awk" "$docs/$file.md"
    see_also "$name" "$section"
  } >"$out/$name.$section"
done <<<"$pages"
