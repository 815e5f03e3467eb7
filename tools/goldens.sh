#!/usr/bin/env bash
# Makes tests/goldens/tok, io, lm and rl anew, with the libraries whose results they are: tokenizers, safetensors,
# transformers, PEFT, TRL and PyTorch. PyTorch is the one of .venv (make torch); the others go to build/goldens-venv.
# What it changes is then in git diff; other versions of the libraries may change the last bits of tests/goldens/lm.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/goldens-venv
packages=(transformers==5.24.0 peft==0.21.2 trl==1.16.0 safetensors tokenizers)
if [ ! -x .venv/bin/python ]; then
  echo "goldens: no PyTorch in .venv: run make torch first" >&2
  exit 2
fi
if [ "$(cat "$venv/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$venv"
  .venv/bin/python -m venv "$venv"
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/base.pth"
  "$venv/bin/pip" install --quiet "${packages[@]}"
  echo "${packages[*]}" >"$venv/complete"
fi
for script in make_tokenizer_goldens.py make_model_goldens.py make_trl_goldens.py; do
  "$venv/bin/python" "tests/goldens/$script"
done
git diff --stat -- tests/goldens
