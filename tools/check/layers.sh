#!/usr/bin/env bash
# A layer includes what is below it, never what is above: base <- gym <- cli, and base <- lm <- rl <- cli.
# The learner, rl, and its commands, cli/learn, see the gym through its public header alone; so does cli itself, which
# sees none. So does the service, svc; its commands, cli/svc, tell it what the gym knows. A pool whose judge is a service, remote, sees gym and svc. The commands of the gym, cli/gym, are part of it; cli/trial
# sees its table of options and KernelBench's files besides. Within the engine, lm: ops <- model <- the
# others. The runner is the candidate's process: it gets the wire format and the sandbox, and nothing else of the
# gym. Within the gym, within rl, and for cli/gym and cli/svc, edges.txt says which folder may include which; the table has no loop
# and no edge that nothing uses.
source "$(dirname "$0")/lib.sh"
edges=tools/check/edges.txt
[ -f "$edges" ] || edges=/dev/null
out=$(files | grep -E '^src/.*\.(c|h|inc)$' | xargs -r awk -v edges="$edges" '
  # Of src/gym/a/b/c.h: "a/b"; of src/gym/k.h: "k.h"; of src/rl/a/c.h: "rl/a"; of src/cli/a/c.h: "cli/a".
  function folder(path,   n, part, i, out) {
    n = split(path, part, "/")
    if (part[2] == "rl" || part[2] == "trial") return part[2] "/" part[3]
    if (part[2] == "cli") return n == 3 ? "cli" : "cli/" part[3]
    if (n == 3) return part[3]
    out = part[3]
    for (i = 4; i < n; i++) out = out "/" part[i]
    return out
  }
  # Below a folder on the way: a loop.
  function walk(a, way,   n, to, i) {
    if (state[a] == "done") return
    if (state[a] == "open") { printf "%s: a loop: %s -> %s\n", edges, way, a; return }
    state[a] = "open"
    n = split(may[a], to, " ")
    for (i = 1; i <= n; i++) walk(to[i], way == "" ? a : way " -> " a)
    state[a] = "done"
  }
  BEGIN {
    while ((getline line < edges) > 0) {
      if (line ~ /^#/ || line !~ /:/) continue
      name = line; sub(/:.*/, "", name)
      sub(/^[^:]*: */, "", line)
      may[name] = line
      n = split(line, to, " ")
      for (i = 1; i <= n; i++) edge[name, to[i]] = 1
    }
    for (name in may) walk(name, "")
  }
  FNR == 1 { split(FILENAME, part, "/"); layer = part[2]; from = layer ~ /^(gym|rl|trial|cli)$/ ? folder(FILENAME) : layer }
  /^[ \t]*#[ \t]*include[ \t]*"/ || /^[ \t]*#[ \t]*include[ \t]*<(base|gym|runner|cli|svc|remote|lm|rl|trial)\// {
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*$/, "", name)
    ok = 0
    if (layer == "base") ok = name ~ /^base\//
    else if (layer == "gym") ok = name ~ /^(base|gym)\//
    else if (layer == "runner") ok = name ~ /^runner\// || name == "gym/run/wire.h" || name ~ /^gym\/sandbox\/(sandbox|seccomp)\.h$/
    else if (layer == "probe") ok = name ~ /^probe\// || name == "base/clock.h" || name == "gym/tensor/tensor_wire.h" || name == "gym/run/wire.h" || name == "gym/sandbox/plan.h" || name == "gym/device/cuda_driver.h"
    else if (layer == "lm" && FILENAME ~ /^src\/lm\/ops\//) ok = name ~ /^(base|lm\/ops)\//
    else if (layer == "lm" && FILENAME ~ /^src\/lm\/model\//) ok = name ~ /^(base|lm\/ops|lm\/model)\//
    else if (layer == "lm") ok = name ~ /^(base|lm)\//
    else if (layer == "rl") ok = name ~ /^(base|lm|rl)\// || name == "gym/kgym.h"
    else if (layer == "trial") ok = name ~ /^(base|lm|rl|trial)\// || name == "gym/kgym.h"
    else if (from == "cli/trial") ok = name ~ /^(base|lm|rl|trial|cli\/trial|gym\/kernelbench)\// || name == "cli/cli.h" || name == "gym/kgym.h" || name == "gym/eval/config.h"
    else if (from == "cli/gym") ok = name ~ /^(base|gym|cli)\//
    else if (layer == "svc") ok = name ~ /^(base|svc)\// || name == "gym/kgym.h"
    else if (layer == "remote") ok = name ~ /^(base|gym|svc|remote)\//
    else if (from == "cli/svc") ok = name ~ /^(base|gym|svc|remote|cli|cli\/gym)\//
    else if (from == "cli/learn") ok = name ~ /^(base|lm|rl|cli\/learn)\// || name == "cli/cli.h" || name == "gym/kgym.h"
    else if (layer == "cli") ok = name ~ /^(base|cli)\//
    if (!ok || name ~ /\.\./) { printf "%s:%d: %s may not include \"%s\"\n", FILENAME, FNR, layer, name; next }
    if (((layer == "gym" || layer == "remote" || from == "cli/gym" || from == "cli/svc") && name ~ /^gym\//) || (layer == "rl" && name ~ /^rl\//) || (layer == "trial" && name ~ /^trial\//)) {
      to_folder = folder("src/" name)
      used[from, to_folder] = 1
      if (from != to_folder && !((from, to_folder) in edge))
        printf "%s:%d: %s may not include \"%s\": %s does not list %s\n", FILENAME, FNR, from, name, edges, to_folder
    }
  }
  END {
    for (e in edge) if (!(e in used)) { split(e, pair, SUBSEP); printf "%s: nothing in %s includes %s\n", edges, pair[1], pair[2] }
  }' | sort)
[ -z "$out" ] || printf '%s\n' "$out"
verdict layers "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "includes against the order of layers"
