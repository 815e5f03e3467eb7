#!/usr/bin/env bash
# Prints the pages that come from tables in the code and from kept measurements.
#   tools/docs.sh build/release/kgym FOLDER     into FOLDER (docs)
set -euo pipefail
kgym=$1 folder=$2
{
  echo "# Configuration keys"
  echo
  echo "Printed by \`kgym options --markdown\` from the table that parses them; do not edit."
  echo "Precedence: defaults < preset < configuration file < environment < flags. A client of the service"
  echo "may set those marked \`client\` ([service.md](service.md))."
  echo
  "$kgym" options --markdown
} >"$folder/options.md"
"$(dirname "$0")/benchmarks.sh" >"$folder/benchmarks.md"

# The table of rules inside a page that is written by hand.
rules=$("$kgym" options --static-rules)
page=$(rules=$rules awk '
  /^\| rule \| severity \| says \|$/ { print; getline; print; print ENVIRON["rules"]; inside = found = 1; next }
  inside && /^\|/ { next }
  { inside = 0; print }
  END { if (!found) { print "docs/static-check.md: no table of rules" >"/dev/stderr"; exit 1 } }' \
  "$(dirname "$0")/../docs/static-check.md")
printf '%s\n' "$page" >"$folder/static-check.md"
