#!/usr/bin/env bash
# No path of one developer's machine in a tracked file.
source "$(dirname "$0")/lib.sh"
out=$(files | tr '\n' '\0' | xargs -0 -r grep -I -n -E '(^|[^A-Za-z0-9_.}/-])/(work|farm)/' | cut -c1-160)
[ -z "$out" ] || printf '%s\n' "$out"
verdict words "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "paths of somebody's machine"
