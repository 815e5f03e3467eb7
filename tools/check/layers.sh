#!/usr/bin/env bash
# A layer includes what is below it, never what is above: base <- gym <- cli. The runner is the
# candidate's process: it gets the wire format and the sandbox, and nothing else of the gym.
source "$(dirname "$0")/lib.sh"
out=$(files | grep '^src/.*\.[ch]$' | xargs -r awk '
  FNR == 1 { split(FILENAME, part, "/"); layer = part[2] }
  /^[ \t]*#[ \t]*include[ \t]*"/ || /^[ \t]*#[ \t]*include[ \t]*<(base|gym|runner|cli|svc|lm|rl)\// {
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*$/, "", name)
    ok = 0
    if (layer == "base") ok = name ~ /^base\//
    else if (layer == "gym") ok = name ~ /^(base|gym)\//
    else if (layer == "runner") ok = name ~ /^runner\// || name == "gym/run/wire.h" || name ~ /^gym\/sandbox\/(sandbox|seccomp)\.h$/
    else if (layer == "probe") ok = name ~ /^probe\// || name == "base/clock.h" || name == "gym/tensor/tensor_wire.h" || name == "gym/run/wire.h" || name == "gym/sandbox/plan.h" || name == "gym/device/cuda_driver.h"
    else if (layer == "cli") ok = name ~ /^(base|gym|cli)\//
    if (!ok || name ~ /\.\./) printf "%s:%d: %s may not include \"%s\"\n", FILENAME, FNR, layer, name
  }')
[ -z "$out" ] || printf '%s\n' "$out"
verdict layers "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "includes against the order of layers"
