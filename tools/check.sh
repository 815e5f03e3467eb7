#!/usr/bin/env bash
# Runs every check of tools/check/ (or those named), all of them even if one fails, and sums up.
#   tools/check.sh [CHECK ...]
set -uo pipefail
cd "$(dirname "$0")/.."
all=(format layers headers heads length words messages keys prose commits warnings names docs reach cppcheck tidy)
checks=("$@")
[ ${#checks[@]} -gt 0 ] || checks=("${all[@]}")
failed=()
for c in "${checks[@]}"; do
  start=$SECONDS
  if out=$("tools/check/$c.sh" . 2>&1); then
    printf '%-9s ok      %3d s\n' "$c" $((SECONDS - start))
  else
    failed+=("$c")
    printf '%-9s FAILED  %3d s  %s\n' "$c" $((SECONDS - start)) "$(tail -1 <<<"$out")"
    head -n -1 <<<"$out" | head -60 | sed 's/^/  | /'
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "check: ${#failed[@]} of ${#checks[@]} failed: ${failed[*]}"
  exit 1
fi
echo "check: all ${#checks[@]} passed"
