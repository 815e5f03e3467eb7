# Shared by the checks: sourced, not run. A check takes the tree's root as $1, prints what is wrong,
# then one line with its verdict, and exits 1 if anything was.
set -uo pipefail
# What a check builds is not the variant of a `make` that this runs below.
unset MAKEFLAGS MFLAGS MAKELEVEL VARIANT SCOPE
# Nor is the tree that of a hook that runs this.
unset $(git rev-parse --local-env-vars 2>/dev/null)
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 2
cd "$root" || exit 2

# Files of the tree, one a line: those that git tracks, or all where the root is no repository.
files() {
  if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$root" ]; then
    git ls-files | while IFS= read -r f; do [ -f "$f" ] && printf '%s\n' "$f"; done
  else
    find . -type f -not -path './build/*' | sed 's|^\./||' | sort
  fi
}

# verdict NAME COUNT WHAT: the last line and the exit status.
verdict() {
  if [ "$2" -eq 0 ]; then echo "$1: ok"; exit 0; fi
  echo "$1: $2 $3"
  exit 1
}
