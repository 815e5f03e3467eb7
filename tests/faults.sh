#!/usr/bin/env bash
# Kills the processes of a service under load at random moments, and compares what its clients were
# answered with what is there in the end: nothing lost, changed or doubled, for both stores.
#   tests/faults.sh [BUILD]      default: build/release
# FAULT_KILLS: kills in all (default 60). FAULT_SEED: of the plan (default 1); the same seed has the
# same plan: who is killed next, after which pause.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
b=${1:-build/release}
test -x "$b/tests/test_svc_faults" || { echo "faults: $b/tests/test_svc_faults is missing: \`make programs\` builds it" >&2; exit 2; }
export KGYM_TREE=$PWD KGYM_BUILD
KGYM_BUILD=$(cd "$b" && pwd)
exec "$b/tests/test_svc_faults"
