#!/usr/bin/env bash
# Every key of a training run has a consumer: each field of the option table in src/rl/run/options*.c is read somewhere
# else below src/rl or src/cli. And docs/requirements.md names tests that are there.
source "$(dirname "$0")/lib.sh"
bad=0
others=$(files | grep -E '^src/(rl|cli)/.*\.[ch]$' | grep -vE '^src/rl/run/options(\.h|\.c)$')
fields=$(files | grep -E '^src/rl/run/options[a-z_]*\.c$' | xargs -r perl -0777 -ne '
  print "$1 $2\n" while /^    (?:BOOL|INT|REAL|TEXT|ENUM)\(\s*"([^"]+)",\s*(\w+)/gm')
[ -n "$fields" ] || verdict keys 1 "no option was found"
# options.c turns fields into methods: a line there that is not a row of the table counts, too.
text=$(cat $others /dev/null; grep -hvE '^    (BOOL|INT|REAL|TEXT|ENUM)\(' src/rl/run/options*.c)
while read -r key field; do
  grep -qE "\b(c|config)->$field\b" <<<"$text" && continue
  echo "src/rl/run/options.c: \`$key\` (field $field) is read nowhere"
  bad=$((bad + 1))
done <<<"$fields"
tests=$(files | grep '^tests/unit/test_.*\.c$')
while IFS= read -r name; do
  grep -qE "\b$name\(" $tests && continue
  echo "docs/requirements.md: no test \`$name\`"
  bad=$((bad + 1))
done < <(grep -oE '`[A-Za-z][A-Za-z0-9_]+ of test_[a-z_]+`|`test_[A-Z][A-Za-z0-9_]+`' docs/requirements.md |
  tr -d '`' | sed 's/ of .*//' | sort -u)
verdict keys "$bad" "keys without a consumer, or tests that are not there"
