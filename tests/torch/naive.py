"""A naive in-process evaluator, the control of the hostile fixtures: it must accept them.

It unites weaknesses of public evaluators and is no part of kgym: reference and candidate share a
process and a namespace, seeds are public, inputs are drawn after the candidate was imported, both
sides get the same tensors, the reference runs first, leaves are compared pairwise with a tolerance
of 1e-2 read from a file, time is the wall clock's on one set of inputs. A child is forked for each
fixture, in a folder of its own; success is exit status 0 or a line that says "accepted".

    .venv/bin/python tests/torch/naive.py DIR [NAME...]

Fixtures marked `attacks: host` or `gpu: yes` are skipped: the first must not run outside a sandbox.
Exit status 1 when it refuses one of the others."""

import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import gc
import importlib.util
import json
import pathlib
import select
import signal
import statistics
import tempfile
import time

import torch
import triton.language  # noqa: F401  imported once, before the forks

import common

SEED = 42
TRIALS = 3
CALLS = 20
LIMIT_S = 30


def tolerance():
    """What the folder's file says now."""
    with open("tolerance.json") as f:
        said = json.load(f)
    return said["atol"], said["rtol"]


def tensors(answer):
    if isinstance(answer, dict):
        answer = list(answer.values())
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def close(expected, got):
    """allclose; where it says no, the greatest excess that is reported decides."""
    atol, rtol = tolerance()
    for a, b in zip(expected, tensors(got)):
        if a.shape != b.shape:
            return False
        a, b = a.float(), b.float()
        if torch.allclose(a, b, atol=1e-2 * atol, rtol=1e-2 * rtol):
            continue
        worst = ((a - b).abs() - (1e-2 * atol + 1e-2 * rtol * b.abs())).max()
        if worst > 0:
            return False
    return True


def define(source, space, entry):
    """The candidate's class: in the reference's namespace; where Triton needs a file, imported."""
    if "@triton.jit" not in source:
        exec(compile(source, "candidate.py", "exec"), space)
        return space[entry]
    spec = importlib.util.spec_from_file_location("candidate", "candidate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, entry)


def wall(module, inputs):
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        module(*inputs)
        times.append(time.perf_counter() - start)
    return statistics.mean(times)


def evaluate(problem, source, constants):
    """(accepted, reference time / candidate time)"""
    space = problem.space(constants)
    torch.manual_seed(SEED)
    args, kwargs = problem.init(space)
    torch.manual_seed(SEED)
    reference = space[problem.entry](*args, **kwargs)
    candidate_class = define(source, space, problem.wanted)
    torch.manual_seed(SEED)
    candidate = candidate_class(*args, **kwargs)
    torch.manual_seed(SEED)
    seeds = [int(torch.randint(0, 2**32 - 1, (1,))) for _ in range(TRIALS)]
    with torch.no_grad():
        for seed in seeds:
            torch.manual_seed(seed)
            inputs = space["get_inputs"]()
            torch.manual_seed(seed)
            # Copies: the reference's own memory is free again when the candidate starts.
            expected = [t.clone() for t in tensors(reference(*inputs))]
            torch.manual_seed(seed)
            got = candidate(*inputs)
            gc.collect()
            time.sleep(0.02)  # its bookkeeping between a call and the comparison
            if not close(expected, got):
                return False, 0.0
            del expected, got, inputs
    torch.manual_seed(SEED)
    inputs = space["get_inputs"]()
    mine = wall(candidate, inputs)
    theirs = wall(reference, inputs)
    return True, theirs / mine if mine > 0 else float("inf")


def child(problem, path, constants, folder, out):
    """Never returns."""
    os.chdir(folder)
    os.environ["NAIVE_SEED"] = str(SEED)
    for name in ("TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "HOME", "TMPDIR"):
        os.environ[name] = folder
    os.dup2(out, 1)
    os.dup2(os.open("stderr.txt", os.O_CREAT | os.O_WRONLY), 2)
    source = path.read_text()
    pathlib.Path("reference.py").write_text(problem.source)
    pathlib.Path("candidate.py").write_text(source)
    pathlib.Path("tolerance.json").write_text('{"atol": 1.0, "rtol": 1.0}')
    sys.path.insert(0, folder)
    signal.alarm(LIMIT_S)
    status = 1
    try:
        accepted, ratio = evaluate(problem, source, constants)
        line = json.dumps({"accepted": bool(accepted), "ratio": ratio})
        os.write(1, (line + "\n").encode())
        status = 0 if accepted else 1
    except BaseException as e:
        os.write(1, (f"{type(e).__name__}: {e}"[:200] + "\n").encode())
        status = e.code if isinstance(e, SystemExit) and isinstance(e.code, int) else 1
    sys.stdout.flush()
    os._exit(status)


def run(problem, path, constants):
    """(accepted, what was said)"""
    with tempfile.TemporaryDirectory() as folder:
        back, out = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(back)
            child(problem, path, constants, folder, out)
        os.close(out)
        said = b""
        deadline = time.monotonic() + LIMIT_S + 2
        while time.monotonic() < deadline:
            if select.select([back], [], [], 0.1)[0]:
                piece = os.read(back, 65536)
                if not piece:
                    break
                said += piece
            elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
        if not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            time.sleep(0.5)
            os.kill(pid, signal.SIGKILL)
        os.close(back)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = said.decode(errors="replace")
    last = text.strip().splitlines()[-1:] or [f"exit status {status}"]
    return status == 0 or '"accepted": true' in text, last[0][:90]


def main(folder, names):
    known = common.problems()
    refused = accepted = skipped = 0
    for path in sorted(pathlib.Path(folder).glob("*.py")):
        if names and path.stem not in names:
            continue
        fields = common.header(path)
        why = "attacks the host" if fields.get("attacks") == "host" else ""
        if fields.get("gpu", "no").startswith("yes"):
            why = "needs a GPU"
        if why:
            print(f"{path.stem:34s} {fields['entry']:4s} skipped   {why}")
            skipped += 1
            continue
        constants = dict(common.SMALL.get(fields["problem"], {}))
        for item in filter(None, fields.get("sizes", "").split(",")):
            name, value = item.split("=")
            constants[name.strip()] = int(value)
        sys.stdout.flush()
        ok, said = run(known[fields["problem"]], path.resolve(), constants)
        word = "accepted" if ok else "REFUSED "
        print(f"{path.stem:34s} {fields['entry']:4s} {word}  {said}")
        accepted += ok
        refused += not ok
    print(f"naive: {accepted} accepted, {refused} refused, {skipped} skipped")
    return refused > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
