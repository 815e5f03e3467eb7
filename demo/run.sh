#!/usr/bin/env bash
# Judges the shipped replies on the shipped problems and writes runs/demo-gym/report.html.
set -euo pipefail
cd "$(dirname "$0")/.."
kgym=build/release/kgym
out=runs/demo-gym
export KGYM_CACHE=${KGYM_CACHE:-$PWD/build/cache/kgym} # the demo writes nothing outside the tree
mkdir -p "$out"
rm -f "$out/records.jsonl"
problems=$(grep -o '"problem": "[^"]*"' demo/replies.jsonl | sort -u | wc -l)
echo "demo-gym: judging $(wc -l <demo/replies.jsonl) model replies to $problems problems"
"$kgym" eval --batch demo/replies.jsonl --out "$out/records.jsonl"
"$kgym" report "$out/records.jsonl" --out "$out/report.html" --title "kgym demo-gym"
echo
echo "demo-gym: one card, as \`kgym eval\` shows it:"
"$kgym" eval softmax problems/candidates/softmax.fast.c || true
echo "demo-gym: wrote $out/report.html"
