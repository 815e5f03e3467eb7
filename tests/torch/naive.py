"""A naive in-process evaluator, the control of the hostile fixtures: it must accept them.

It unites weaknesses of public evaluators and is no part of kgym: reference and candidate share a
process and a namespace, seeds are public, inputs are drawn after the candidate was imported, both
sides get the same tensors, the reference runs first, leaves are compared pairwise with a tolerance
of 1e-2 read from a file, time is the wall clock's on one set of inputs and waits for no stream. A
child is forked for each fixture, in a folder of its own; success is exit status 0 or a line that
says "accepted".

    .venv/bin/python tests/torch/naive.py [--jobs N] [--gpu] [--host] [NAME...]

Without --gpu those that only a GPU can show are left out, with it all others. Those that attack
the host must not run outside of a sandbox: control.py makes one, and asks with --host for them.
Exit status 1 when it refuses one."""

import os
import sys

GPU = "--gpu" in sys.argv
if not GPU:
    os.environ["TRITON_INTERPRET"] = "1"

import argparse
import contextlib
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
# compilers are at work on a GPU first
LIMIT_S = int(os.environ.get("NAIVE_LIMIT", 120 if GPU else 30))
DEVICE = "cuda" if GPU else "cpu"
PARENTS = []  # descriptors that are no business of the one under test
HOSTILE = pathlib.Path(__file__).resolve().parent / "hostile"


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


def placed(values):
    return [v.to(DEVICE) if isinstance(v, torch.Tensor) else v for v in values]


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
    reference = space[problem.entry](*args, **kwargs).to(DEVICE)
    candidate_class = define(source, space, problem.wanted)
    torch.manual_seed(SEED)
    candidate = candidate_class(*args, **kwargs).to(DEVICE)
    torch.manual_seed(SEED)
    seeds = [int(torch.randint(0, 2**32 - 1, (1,))) for _ in range(TRIALS)]
    with torch.no_grad():
        for seed in seeds:
            torch.manual_seed(seed)
            inputs = placed(space["get_inputs"]())
            torch.manual_seed(seed)
            # Copies: the reference's own memory is free again when the candidate starts.
            expected = [t.clone() for t in tensors(reference(*inputs))]
            torch.manual_seed(seed)
            got = candidate(*inputs)
            gc.collect()
            time.sleep(0.1 if GPU else 0.02)  # its bookkeeping between a call and the comparison
            if not close(expected, got):
                return False, 0.0
            del expected, got, inputs
    torch.manual_seed(SEED)
    inputs = placed(space["get_inputs"]())
    mine = wall(candidate, inputs)
    theirs = wall(reference, inputs)
    return True, theirs / mine if mine > 0 else float("inf")


def device_is_lost():
    """An error that sticks: nothing can be judged in this process any more."""
    try:
        torch.zeros(1, device=DEVICE).add_(1)
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


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
        if GPU and device_is_lost():
            os.write(1, b"device lost\n")
        os.write(1, (f"{type(e).__name__}: {e}"[:200] + "\n").encode())
        status = e.code if isinstance(e, SystemExit) and isinstance(e.code, int) else 1
    sys.stdout.flush()
    os._exit(status)


def with_earlier(top, problem):
    """The candidate's folder, beside that of an earlier solution."""
    folder = os.path.join(top, "now")
    for name in (folder, os.path.join(top, "before")):
        os.mkdir(name)
    solved = common.CANDIDATES / f"{problem.name}.fast.py"
    if solved.exists():
        pathlib.Path(top, "before", "candidate.py").write_text(solved.read_text())
    return folder


def run(problem, path, constants, keep):
    """(accepted, what was said); keep: the folder stays as it is."""
    with contextlib.ExitStack() as stack:
        top = tempfile.mkdtemp() if keep else stack.enter_context(tempfile.TemporaryDirectory())
        folder = with_earlier(top, problem)
        back, out = os.pipe()
        pid = os.fork()
        if pid == 0:
            for fd in (back, *PARENTS):
                os.close(fd)
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
    last = text.strip().splitlines()[-1:] if status >= 0 else []
    lost = "device lost; " if "device lost" in text else ""
    return (status == 0 or '"accepted": true' in text,
            lost + (last or [f"exit status {status}"])[0][:90])


def left_out(fields, host):
    """Why it is not run, or None."""
    if fields.get("gpu", "no").startswith("yes") != GPU:
        return "needs a GPU" if not GPU else "needs none"
    if fields.get("attacks", "").startswith("host") != host:
        return "attacks the host" if not host else "leaves the host alone"
    return None


def judge(path, known, host):
    """One line."""
    fields = common.header(path)
    why = left_out(fields, host)
    if why:
        return f"{path.stem:34s} {fields['entry']:4s} skipped   {why}"
    constants = dict(common.SMALL.get(fields["problem"], {}))
    for item in filter(None, fields.get("sizes", "").split(",")):
        name, value = item.split("=")
        constants[name.strip()] = int(value)
    ok, said = run(known[fields["problem"]], path, constants, host)
    return f"{path.stem:34s} {fields['entry']:4s} {'accepted' if ok else 'REFUSED '}  {said}"


def share(paths, host):
    """(pid, pipe) of a child that writes a line for each."""
    back, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(back)
        PARENTS.append(out)
        known = common.problems()
        for path in paths:
            os.write(out, (judge(path, known, host) + "\n").encode())
        os._exit(0)
    os.close(out)
    return pid, back


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--gpu", action="store_true")
    options.add_argument("--host", action="store_true")
    options.add_argument("names", nargs="*")
    given = options.parse_args()
    paths = [p for p in sorted(HOSTILE.glob("*.py")) if not given.names or p.stem in given.names]
    parts = [share(paths[i::given.jobs], given.host) for i in range(given.jobs)]
    lines = []
    for pid, back in parts:
        with open(back) as said:
            lines += said.read().splitlines()
        os.waitpid(pid, 0)
    print("\n".join(sorted(lines)))
    count = {w: sum(w in line.split()[2:3] for line in lines)
             for w in ("accepted", "REFUSED", "skipped")}
    refused = [line for line in sorted(lines) if "REFUSED" in line.split()[2:3]]
    if refused:  # among a hundred others they would not be seen
        print("\n".join(refused), file=sys.stderr)
    names = " ".join(line.split()[0] for line in refused)
    print(f"naive: {count['accepted']} accepted, {count['REFUSED']} refused, "
          f"{count['skipped']} skipped{': refused ' if refused else ''}{names}")
    return count["REFUSED"] > 0 or len(lines) < len(paths)


if __name__ == "__main__":
    sys.exit(main())
