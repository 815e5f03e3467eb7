#!/usr/bin/env bash
# Both corpora, C and PyTorch, against kgym and against the naive evaluators, and one confusion matrix
# of both: tests/corpus.sh, then tests/torch/corpus.py with its controls. docs/hacks.md says what the
# words mean. Without torch (`make torch`) the matrix is the C corpus's alone, and it is said.
#   tests/corpora.sh BUILD [--small]     --small: PyTorch problems at small sizes
# Exit status 0: both corpora's is.
set -uo pipefail
b=${1:?usage: tests/corpora.sh BUILD [--small]}
small=${2:-}
tree=$(cd "$(dirname "$0")/.." && pwd)
python=${KGYM_PYTHON:-$tree/.venv/bin/python}
[ -x "$python" ] || python=python3
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$tree/build/cache}
status=0
"$tree/tests/corpus.sh" "$b" || status=1
if ! "$python" -c 'import torch, triton' 2>/dev/null; then
  echo "skip: PyTorch's corpora: $python has no torch: make torch"
  "$python" -B "$tree/tests/torch/corpus.py" --beside "$b/corpus/words" --naive || status=1
  exit $status
fi
KGYM_PYTHON=$python "$python" -B "$tree/tests/torch/corpus.py" "$b" --naive --beside "$b/corpus/words" \
  ${small:+"$small"} || status=1
exit $status
