#!/usr/bin/env bash
# Installs what kgym needs and is missing: Debian packages, as root or with sudo. Says what it does;
# does nothing, quickly, when nothing is missing.
#   tools/setup.sh          to build and run
#   tools/setup.sh test     also what the tests need
#   tools/setup.sh check    also what `make check` and `make fuzz` need
#   tools/setup.sh ui       also what `make test-ui` needs: Chromium and Debian's selenium for Python
#   tools/setup.sh torch    the project's own Python environment, .venv at the root, with torch, triton,
#                           numpy and einops (KernelBench's level 3) from PyPI: about a minute and 5 GB. What
#                           it has is left alone.
#   tools/setup.sh trainers the packages of trainers whose code the tests call, from PyPI, in build/trainers-venv:
#                           some seconds and 40 MB, since only what a client needs of them is installed.
#   tools/setup.sh llama    llama.cpp's server, from a wheel of PyPI, in build/llama-venv: half a minute and 130 MB. Where
#                           no wheel installs, its test is skipped.
set -euo pipefail

venv=$(cd "$(dirname "$0")/.." && pwd)/.venv
base=${KGYM_TORCH_BASE:-python3} # the CPython that the environment is made with, 3.9 or newer

# What is there already stays: a second run goes on where the first was interrupted.
make_venv() {
  "$base" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || {
    echo "setup: $base is older than 3.9; name another with KGYM_TORCH_BASE" >&2
    exit 2
  }
  echo "setup: making .venv with torch, triton, numpy and einops: about a minute and 5 GB"
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$base" -m venv "$venv"
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check torch triton numpy einops ||
    ! "$venv/bin/python" -c 'import torch, einops'; then
    echo "setup: could not make .venv; everything but PyTorch problems works without it" >&2
    exit 2
  fi
  echo "setup: done"
}

# The clients of OpenEnv and TRL's own call of a reward function need little of what these packages ask for: without
# the rest (gradio, transformers, datasets) this takes seconds. aiohttp and httpx are what slime, OpenRLHF and
# KernelGYM send by (tools/peers-check.sh).
if [ "${1:-}" = trainers ]; then
  trainers=${venv%/*}/build/trainers-venv
  needed=(websockets requests aiohttp httpx)
  called=(openenv-core==0.3.0 trl==1.16.0)
  [ "$(cat "$trainers/complete" 2>/dev/null)" != "${needed[*]} ${called[*]}" ] || exit 0
  rm -rf "$trainers"
  python3 -m venv "$trainers"
  "$trainers/bin/pip" install --quiet --disable-pip-version-check "${needed[@]}"
  "$trainers/bin/pip" install --quiet --disable-pip-version-check --no-deps "${called[@]}"
  echo "${needed[*]} ${called[*]}" >"$trainers/complete"
  echo "setup: done"
  exit 0
fi

if [ "${1:-}" = llama ]; then
  llama=${venv%/*}/build/llama-venv
  package=xllamacpp==2026.10.11549
  [ "$(cat "$llama/complete" 2>/dev/null)" != "$package" ] || exit 0
  rm -rf "$llama"
  if python3 -m venv "$llama" && "$llama/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$package"; then
    echo "$package" >"$llama/complete"
    echo "setup: done"
  else
    rm -rf "$llama"
    echo "setup: no llama.cpp: the test with its server is skipped" >&2
  fi
  exit 0
fi

need=(gcc libc6-dev make pkg-config libjansson-dev libyaml-dev libssl-dev libffi-dev libseccomp-dev
  libpcre2-dev libutf8proc-dev libevent-dev libsqlite3-dev libzstd-dev libhiredis-dev libcurl4-openssl-dev git)
if [ "${1:-}" = test ] || [ "${1:-}" = check ]; then
  need+=(libcmocka-dev patch jq python3)
fi
if [ "${1:-}" = ui ]; then
  need+=(chromium chromium-driver python3-selenium fonts-dejavu-core)
fi
if [ "${1:-}" = check ]; then
  # Debian starts a server when redis-server is installed, so `make test` goes without where it is missing.
  need+=(clang clang-format clang-tidy cppcheck libclang-rt-14-dev redis-server)
fi
if [ "${1:-}" = torch ]; then
  if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    "$venv/bin/python" -c 'import einops' 2>/dev/null ||
      { echo "setup: adding einops to .venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check einops; } ||
      echo "setup: no einops: problems that import it can't be judged" >&2
    exit 0
  fi
  need=()
  "$base" -c 'import ensurepip, venv' 2>/dev/null || need=(python3 python3-venv)
fi

missing=()
installed=$(dpkg-query -W -f '${Package} ${Status}\n' "${need[@]:-dpkg}" 2>/dev/null | awk '$NF == "installed" {print $1}' || true)
for p in "${need[@]}"; do
  grep -qx "$p" <<<"$installed" || missing+=("$p")
done
finish() { if [ "${1:-}" = torch ]; then make_venv; fi; }
if [ ${#missing[@]} -eq 0 ]; then
  finish "${1:-}"
  exit 0
fi

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
finish "${1:-}"
