#!/usr/bin/env bash
# Runs the code of other projects that asks for rewards against a service: tools/peers-check.sh DIR. DIR has checkouts
# named slime, verl, OpenRLHF and KernelGYM; those that are not there are left out. Needs `make`, `make torch` (for
# KernelGYM's tasks) and the network once, for tools/setup.sh trainers. Nothing of the checkouts is changed or kept.
set -euo pipefail
if [ $# != 1 ] || [ ! -d "$1" ]; then
  echo "usage: tools/peers-check.sh DIR" >&2
  exit 2
fi
peers=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
tools/setup.sh trainers
gym=${KGYM_BUILD:-build/release}/kgym
folder=$(mktemp -d)
service=
trap '[ -z "$service" ] || { kill "$service" && wait "$service"; } 2>/dev/null; rm -rf "$folder"' EXIT
"$gym" serve --port 0 --folder "$folder/store" --jobs 1 >"$folder/said" &
service=$!
for _ in $(seq 600); do
  url=$(sed -n 's|^kgym serve: \(http://[^,]*\).*|\1|p' "$folder/said")
  [ -z "$url" ] || break
  kill -0 "$service" || exit 2
  sleep 0.1
done
build/trainers-venv/bin/python -B tests/clients/check_peers.py "$url" "$peers"
