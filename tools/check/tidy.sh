#!/usr/bin/env bash
# clang-tidy on src/ with the checks of .clang-tidy, two files at a time.
#   tools/check/tidy.sh [ROOT]
# It looks at what changed since the commit that tools/check/tidy.base names, and at what includes a header that
# changed: at that commit it had looked at all files, and found nothing. It looks at all files where this script or
# .clang-tidy changed since, where git does not know the commit, and with TIDY=all. Once TIDY=all found nothing, the
# file may name a newer commit.
# What it said of a file is kept below build/check/tidy/ under the hash of everything that it read.
source "$(dirname "$0")/lib.sh"
export flags="-std=gnu17 -D_GNU_SOURCE -Isrc -Wno-ignored-attributes" kept=build/check/tidy
mkdir -p "$kept"
one() {
  key=$( (cat .clang-tidy; clang -E -C $flags "$1" 2>&1) | sha256sum | cut -c1-40)
  if [ ! -f "$kept/$key" ]; then
    clang-tidy --quiet "$1" -- $flags 2>/dev/null | grep -E '(warning|error):' >"$kept/$key.$$"
    mv "$kept/$key.$$" "$kept/$key"
  fi
  cat "$kept/$key"
}
export -f one

# Of the files on stdin, those that are in the list $1, or include what is. One rule of make for each file names all
# that it includes; a file that has no rule stays.
that_changed() {
  if ! grep -q '\.h$' <<<"$1"; then
    grep -Fx -f <(printf '%s\n' "$1")
    return
  fi
  xargs -r -d '\n' -n 1 -P2 sh -c 'echo "@ $0 $(clang -MM -MG $flags "$0" 2>/dev/null | tr -d "\\\\\\n")"' |
    awk 'FILENAME != "-" {changed[$1]; next}
      NF == 2 {print $2}
      NF > 2 {for (i = 2; i <= NF; i++) if ($i in changed) {print $2; break}}' <(printf '%s\n' "$1") -
}

base=$(grep -v '^#' tools/check/tidy.base 2>/dev/null)
sources=$(files | grep '^src/.*\.c$')
if [ "${TIDY:-}" != all ] && [ -n "$base" ] && [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$root" ] &&
  git diff --quiet "$base" -- .clang-tidy tools/check/tidy.sh 2>/dev/null &&
  changed=$(git diff --no-renames --name-only "$base" -- src 2>/dev/null); then
  sources=$(that_changed "$changed" <<<"$sources")
fi
out=$(printf '%s' "$sources" | xargs -r -P2 -d '\n' -I{} bash -c 'one "$1"' _ {} | sed "s|^$root/||" | sort -u)
[ -z "$out" ] || printf '%s\n' "$out"
verdict tidy "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "findings"
