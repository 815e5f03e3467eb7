#!/usr/bin/env bash
# What only a GPU can show, stage by stage. `pack` runs where kgym is built; the others run on the
# machine with the GPU, which needs a driver, NVRTC and a python3 with torch, but no library of kgym's.
#   tools/gpu-check.sh pack        programs and the libraries they need into build/gpu/
#   tools/gpu-check.sh device      every operation of the judge's device against the host's; their cost
#   tools/gpu-check.sh judge       the trusted clock: K, null ratios, what cheating runners look like
#   tools/gpu-check.sh torch       the right and the wrong answers of problems/torch_candidates, judged there
#   tools/gpu-check.sh corpora     controls of the fixtures that need a GPU, then hostile and honest fixtures,
#                                  GPU_RUNS times in a row (3), GPU_JOBS at once
#   tools/gpu-check.sh profile     coverage: the candidates of tests/torch/profile/expected.txt
#   tools/gpu-check.sh timing      null test by the whole path: a reference against itself (GPU_REPETITIONS), as many
#                                  processes of it (GPU_REFERENCES), of kernels whose name holds GPU_KERNELS, with
#                                  GPU_BLOCKS of pairs at most (128; 0: as evaluations are timed); beside contexts,
#                                  too (GPU_BESIDE, 0: not)
#   tools/gpu-check.sh order       the same work from the front, from the back and from the middle, for data of a
#                                  quarter to four times the second-level cache (GPU_L2, in MiB: 50)
#   tools/gpu-check.sh kills       judge, runners, zygote and worker killed at random (GPU_KILLS)
#   tools/gpu-check.sh throughput  256 distinct candidates (GPU_CANDIDATES, GPU_JOBS), as many with contexts beside
#                                  what is timed (GPU_BESIDE, 0: none), and 16 fresh interpreters (GPU_FRESH);
#                                  GPU_SET: long (compute) or short (shipped ones, nearly all below 0.1 ms on an H200)
#   tools/gpu-check.sh extension   time to verdict of candidates that compile, cold and warm (GPU_SOURCES each)
#   tools/gpu-check.sh service     KernelGYM's protocol and /v1 with real kernels, against a service of its own on
#                                  GPU_DEVICE (cuda:0; cpu leaves out what needs a GPU): GPU_JOBS slots (4), GPU_POSTS
#                                  requests at once (768); GPU_ROWS: only rows whose name or tests hold one of these
#                                  words (T33,T6)
#   tools/gpu-check.sh trial       kgym bench, kgym refine and their reports on GPU_DEVICE, GPU_JOBS at once (4);
#                                  GPU_KERNELBENCH: folder of its problems, of which four are judged as published
#   tools/gpu-check.sh all         device, judge, torch, profile, timing
# Each stage ends by itself within its time, prints a short table, leaves whole outputs and JSON in
# $OUT (default build/gpu-out), and fails if anything was wrong. GPU_SECONDS: of one step (240; kills
# 300, service 470, throughput and corpora 900).
set -uo pipefail
cd "$(dirname "$0")/.."
pack=${GPU_PACK:-build/gpu}
out=${OUT:-build/gpu-out}
seconds=${GPU_SECONDS:-240}
kills=test_torch_kills
tests=(test_cuda_device test_cuda_take test_cuda_draws test_cuda_values test_cuda_probe test_cuda_api test_cuda_judge test_torch_cuda test_torch_faults test_torch_kernelbench)
benches=(bench_device_ops bench_judge_null bench_torch_null bench_torch_throughput bench_torch_extension)

do_pack() {
  local variant=${GPU_VARIANT:-portable} b p
  b=build/$variant
  mkdir -p build
  make -j"$(nproc)" VARIANT="$variant" MARCH=x86-64-v3 all "$b/libfakecuda.so" \
    "${tests[@]/#/$b/tests/}" "$b/tests/$kills" "${benches[@]/#/$b/bench/}" >"$b.log" 2>&1 || { tail -20 "$b.log"; return 1; }
  rm -rf "$pack" && mkdir -p "$pack"/{tests,bench,lib}
  cp "$b"/{kgym,kgym-runner,null.so,libkgym_probe.so,libfakecuda.so} "$pack"/
  cp -r "$b"/kgops "$b"/kgops-counted "$b"/kgops-stub "$pack"/
  for p in "${tests[@]}" "$kills"; do cp "$b/tests/$p" "$pack/tests/"; done
  for p in "${benches[@]}"; do cp "$b/bench/$p" "$pack/bench/"; done
  # libraries that are not the C library's own
  for p in "$pack"/kgym "$pack"/kgym-runner "$pack"/tests/* "$pack"/bench/*; do ldd "$p"; done |
    awk '/=> \// {print $3}' | sort -u | grep -v -E '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' |
    while IFS= read -r p; do cp -L "$p" "$pack/lib/"; done
  strip "$pack"/kgym "$pack"/kgym-runner "$pack"/tests/* "$pack"/bench/* "$pack"/lib/* 2>/dev/null
  git rev-parse --short HEAD >"$pack/commit"
  git diff --quiet HEAD -- src harness kgops bench tests Makefile || echo "and changes" >>"$pack/commit"
  echo "pack: $(du -sm "$pack" | cut -f1) MB in $pack, of $(tr '\n' ' ' <"$pack/commit")"
}

enter() {
  [ -d "$pack" ] || { echo "gpu-check: no $pack: run \`tools/gpu-check.sh pack\` where kgym is built" >&2; exit 2; }
  mkdir -p "$out"
  export LD_LIBRARY_PATH=$PWD/$pack/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export KGYM_BUILD=$PWD/$pack KGYM_HOME=$PWD/$pack KGYM_TREE=$PWD KGYM_TEST_GPU=1
  export KGYM_PYTHON=${KGYM_PYTHON:-$(command -v python3)} KGYM_CUDA_CACHE=$PWD/$out/cache
}

# step NAME COMMAND...: its output in $out/NAME.txt; the table, or the last lines if it failed.
step() {
  local name=$1 start=$SECONDS rc
  shift
  timeout -k 5 "$seconds" "$@" >"$out/$name.txt" 2>&1
  rc=$?
  printf '%-20s %s  %3d s\n' "$name" "$([ $rc -eq 0 ] && echo ok || echo "FAILED ($rc)")" $((SECONDS - start))
  [ $rc -eq 0 ] || failed=1
  return $rc
}

# show NAME: the table of a bench; its line of JSON, with the commit that was packed, into $out/NAME.json.
show() {
  grep -v '^{' "$out/$1.txt"
  sed -n "s/^{/{\"commit\":\"$(tr '\n' ' ' <"$pack/commit" | sed 's/ $//')\",/p" "$out/$1.txt" >"$out/$1.json"
}

# no_skips NAME: with a GPU nothing may skip.
no_skips() {
  if grep -h '^skip: ' "$out/$1.txt"; then
    echo "$1: FAILED: it has skipped what only a GPU shows"
    failed=1
  fi
}

do_device() {
  for t in "${tests[@]}"; do
    if step "$t" "$pack/tests/$t"; then
      no_skips "$t"
    else
      grep -v -E '^\[ +(RUN|OK) ' "$out/$t.txt" | tail -30
    fi
  done
  local gpu_of='/^pytorch/,/^timing/p' # the processor may be too noisy to time on: no matter here
  "$pack/kgym" doctor >"$out/doctor.txt" 2>&1
  if [ $? -gt 1 ] || ! grep -q '^pytorch' "$out/doctor.txt" || sed -n "$gpu_of" "$out/doctor.txt" | grep -E '^  lacks|  noisy'; then
    echo "doctor: FAILED"
    failed=1
  fi
  sed -n '/^pytorch/,$p' "$out/doctor.txt"
  step device_ops "$pack/bench/bench_device_ops" 64
  show device_ops
}

do_judge() {
  step judge_null "$pack/bench/bench_judge_null" "${GPU_REPETITIONS:-20}"
  show judge_null
}

# GPU_PROBLEMS: a pattern of problem files; GPU_JOBS at once.
do_torch() {
  local f base kind
  for f in problems/torch/level*/${GPU_PROBLEMS:-*}.py; do
    base=$(basename "$f" .py)
    for kind in fast wrong; do
      [ -f "problems/torch_candidates/${base#*_}.$kind.py" ] &&
        printf '{"id": "%s.%s", "problem": "%s/%s", "source_file": "%s/problems/torch_candidates/%s.%s.py"}\n' \
          "$base" "$kind" "$PWD" "$f" "$PWD" "${base#*_}" "$kind"
    done
  done >"$out/torch-in.jsonl"
  rm -f "$out/torch.jsonl"
  step torch_batch "$pack/kgym" eval --batch "$out/torch-in.jsonl" --out "$out/torch.jsonl" --jobs "${GPU_JOBS:-3}"
  grep -v '^ *$' "$out/torch_batch.txt" | tail -4
  python3 - "$out/torch.jsonl" <<'END' || failed=1
import json, sys
wrong = 0
for line in open(sys.argv[1]):
    r = json.loads(line)
    name, e = r["batch_id"], r["error"]
    said = "error " + e["code"] + ": " + e["message"][:150] if e else r["verdict"] + ("/" + r["reason"] if r["reason"] else "")
    right = not e and (r["verdict"] == "ok") == name.endswith(".fast")
    wrong += not right
    ms = sum(s["ns"] or 0 for s in r["stages"]) / 1e6
    t, v = r["timing"], r["speedup"]
    if t["status"] != "off":
        said += "  %s %s" % (t["status"], t["why"] or "")
    if v:
        said += " %.3f (%s..%s) K %d us" % (v["ratio"], v["lo"] and round(v["lo"], 3), v["hi"] and round(v["hi"], 3), t["overhead_ns"] // 1000)
    print("%-36s %-7s %8.0f ms  %s%s" % (name, "" if right else "UNLIKE", ms, said, "" if right or e else " " + str(r["message"])[:160]))
print("torch: %d not as they should be" % wrong)
sys.exit(wrong > 0)
END
}

do_profile() {
  local library
  python3 tools/gpu-profile.py lines "$out"
  for library in allowed forbidden; do
    rm -f "$out/profile-$library-out.jsonl"
    step "profile_$library" "$pack/kgym" eval --batch "$out/profile-$library.jsonl" --out "$out/profile-$library-out.jsonl" \
      --jobs "${GPU_JOBS:-3}" --stage-profile --no-stage-timing --library "$library"
  done
  python3 tools/gpu-profile.py table "$out"/profile-{allowed,forbidden}-out.jsonl || failed=1
}

do_timing() {
  step torch_null "$pack/bench/bench_torch_null" "${GPU_REPETITIONS:-20}" cuda:0 "${GPU_KERNELS:-}" \
    "${GPU_BESIDE:-$(((${GPU_REPETITIONS:-20} + 1) / 2))}" "${GPU_BLOCKS:-128}" "${GPU_REFERENCES:-5}"
  show torch_null
}

do_order() {
  step order python3 -B tools/gpu-order.py "$PWD/$pack/kgym" "$out" --device "${GPU_DEVICE:-cuda:0}" \
    --jobs "${GPU_JOBS:-4}" --seconds $((seconds - 10)) --l2 "${GPU_L2:-50}"
  grep -v '^judging' "$out/order.txt"
}

# GPU_KILLS of the gym's processes at random moments: each costs seconds of starting again.
do_kills() {
  local seconds=${GPU_SECONDS:-300}
  if TEST_DEVICE=cuda:0 TEST_KILLS=${GPU_KILLS:-30} step torch_kills "$pack/tests/$kills"; then
    grep -h 'kill' "$out/torch_kills.txt" | tail -5
  else
    grep -v -E '^\[ +(RUN|OK) ' "$out/torch_kills.txt" | tail -30
  fi
}

# What hangs costs its deadlines, and nobody is timed meanwhile: 20 s for a first call instead of 60.
do_corpora() {
  local limit=${GPU_SECONDS:-900} seconds=${GPU_SECONDS:-300}
  step torch_naive python3 -B tests/torch/naive.py --gpu --jobs 4 # one kernel's hang is not another's
  grep -h -e REFUSED -e '^naive: ' "$out/torch_naive.txt"
  step torch_control python3 -B tests/torch/control.py --gpu
  grep -h -e REFUSED -e '^control: ' "$out/torch_control.txt"
  no_skips torch_control
  seconds=$((limit + 30)) # the script tells what it has seen when it is interrupted
  step torch_corpora timeout -s INT "$limit" python3 tests/torch/corpus.py "$pack" --gpu --jobs "${GPU_JOBS:-10}" \
    --runs "${GPU_RUNS:-3}" --keep "$out/corpora" --set torch.first_call=20
  grep -v -E '^[A-Z][0-9]+ +[0-9 ]*$|^$' "$out/torch_corpora.txt" | tail -40
}

do_throughput() {
  local seconds=${GPU_SECONDS:-900} batch
  "$pack/kgym" doctor --device cpu >"$out/doctor_cpu.txt" 2>&1 # PyTorch's own modules are compiled and in memory from here on
  KGYM_BENCH_TRACE=$out step torch_throughput "$pack/bench/bench_torch_throughput" "${GPU_CANDIDATES:-256}" "${GPU_JOBS:-8}" \
    "${GPU_FRESH:-16}" cuda:0 "${GPU_BESIDE:-${GPU_CANDIDATES:-256}}" "${GPU_SET:-long}"
  show torch_throughput
  for batch in apart beside; do
    [ -s "$out/$batch.jsonl.trace" ] || continue
    python3 tools/trace.py "$out/$batch.jsonl.trace" >"$out/trace_$batch.txt" &&
      with_trace "$out/torch_throughput.json" "$batch" "$(python3 tools/trace.py --json "$out/$batch.jsonl.trace")" &&
      rm "$out/$batch.jsonl.trace"
    head -24 "$out/trace_$batch.txt"
  done
}

# with_trace FILE apart|beside SUMS: what the trace of that batch says, into the bench's line of JSON.
with_trace() {
  python3 - "$@" <<'END'
import json, sys
path, batch, sums = sys.argv[1:]
line = json.load(open(path))
(line["result"] if batch == "apart" else line["result"]["beside"])["trace"] = json.loads(sums)
json.dump(line, open(path, "w"))
END
}

do_extension() {
  step torch_extension "$pack/bench/bench_torch_extension" "${GPU_SOURCES:-1}" cuda:0
  show torch_extension
}

# The script ends in order before its limit does it.
do_service() {
  local seconds=${GPU_SECONDS:-470}
  step service python3 -B tools/gpu-service.py "$PWD/$pack/kgym" "$out" --device "${GPU_DEVICE:-cuda:0}" \
    --jobs "${GPU_JOBS:-4}" --posts "${GPU_POSTS:-768}" --seconds $((seconds - 25)) \
    --only "${GPU_ROWS:-}"
  cat "$out/service.txt"
}

do_trial() {
  step trial python3 -B tools/gpu-trial.py "$PWD/$pack/kgym" "$out" --device "${GPU_DEVICE:-cuda:0}" \
    --jobs "${GPU_JOBS:-4}" --kernelbench "${GPU_KERNELBENCH:-}" --seconds $((seconds - 10))
  cat "$out/trial.txt"
}

failed=0
stage=${1:-}
case "$stage" in
  pack) do_pack || exit 1 ;;
  device | judge | torch | corpora | profile | timing | order | kills | throughput | extension | service | trial) enter; "do_$stage" ;;
  all) enter; do_device; do_judge; do_torch; do_profile; do_timing ;;
  *) sed -n '2,31s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
exit $failed
