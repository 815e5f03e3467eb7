#!/usr/bin/env bash
# Installs what kgym needs and is missing: Debian packages, as root or with sudo. Says what it does;
# does nothing, quickly, when nothing is missing.
#   tools/setup.sh          to build, test and run
#   tools/setup.sh check    also what `make check` and `make fuzz` need
set -euo pipefail

need=(gcc libc6-dev make pkg-config libjansson-dev libyaml-dev libssl-dev libffi-dev libseccomp-dev libcmocka-dev patch git)
if [ "${1:-}" = check ]; then
  need+=(clang clang-format clang-tidy cppcheck libclang-rt-14-dev jq)
fi

missing=()
installed=$(dpkg-query -W -f '${Package} ${Status}\n' "${need[@]}" 2>/dev/null | awk '$NF == "installed" {print $1}' || true)
for p in "${need[@]}"; do
  grep -qx "$p" <<<"$installed" || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null; then
    as_root=(sudo)
  else
    echo "setup: missing packages: ${missing[*]}" >&2
    echo "setup: install them as root: apt-get install -y ${missing[*]}" >&2
    exit 2
  fi
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "setup: done"
