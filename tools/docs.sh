#!/usr/bin/env bash
# Prints the pages that come from tables in the code and from kept measurements.
#   tools/docs.sh build/release/kgym FOLDER     into FOLDER (docs)
set -euo pipefail
kgym=$1 folder=$2
{
  echo "# Configuration keys"
  echo
  echo "Printed by \`kgym options --markdown\` from the table that parses them; do not edit."
  echo "Precedence: defaults < preset < configuration file < environment < flags."
  echo
  "$kgym" options --markdown
} >"$folder/options.md"
"$(dirname "$0")/benchmarks.sh" >"$folder/benchmarks.md"
