"""The zygote: imports torch (and triton) once, then forks one runner per request.

It runs no foreign code, never touches CUDA and has one thread, so it can be forked safely.
src/gym/torch/runner/zygote.c starts it with a SOCK_SEQPACKET socket as descriptor 3. It sends one
line of JSON about itself. Then it reads requests, each with descriptors (control socket of the
sandbox, its plan, pipes of the streams, control block, IN, OUT). It answers each one when the
runner has become the broker's child.

    request  {"source": PATH_INSIDE, "device": "cpu", "connections": 1}
    answer   {"status": exit status of the child between}
"""

import array
import ast
import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import select
import shutil
import socket
import sys

SOCKET_FD = 3
NFDS = 7  # control socket, plan, stdout, stderr, ctrl, IN, OUT


def refuse(sock, why, missing=None):
    line = json.dumps({"error": why[:400], "missing": missing})
    if sock is None:
        print(line)
    else:
        sock.send(line.encode())
    sys.exit(1)


@contextlib.contextmanager
def bytecode(folder):
    """Keeps compiled modules in a folder that runners do not know. Some installers leave them
    out, and then importing torch takes twice as long."""
    torch = importlib.util.find_spec("torch") if folder else None
    lacks = torch is not None and torch.origin is not None and \
        not os.path.exists(importlib.util.cache_from_source(torch.origin))
    if lacks:
        sys.pycache_prefix, sys.dont_write_bytecode = folder, False
    try:
        yield
    finally:
        if lacks:
            sys.pycache_prefix, sys.dont_write_bytecode = None, True


def take_first_configuration():
    """Without a device nothing can be timed, so the interpreter takes the first configuration
    of an autotuned kernel."""
    from triton.runtime import autotuner
    autotuner.Autotuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]


def count_launches():
    """Counts the kernels that the interpreter has run to their end, for runners to report."""
    from triton.runtime import interpreter
    run = interpreter.GridExecutor.__call__

    def counted(self, *args, **kwargs):
        result = run(self, *args, **kwargs)
        interpreter.kgym_launches += 1
        return result
    interpreter.kgym_launches = 0
    interpreter.GridExecutor.__call__ = counted


def import_all(sock):
    try:
        import torch
    except Exception as error:
        refuse(sock, "%s: cannot import torch: %s: %s" % (sys.executable, type(error).__name__,
                                                          error), "torch")
    try:
        import triton
        version = triton.__version__
        if os.environ.get("TRITON_INTERPRET") == "1":
            take_first_configuration()
            count_launches()
    except Exception:
        version = None
    return torch, version


def warm(torch):
    """Uses torch once, because a first use costs 10 to 100 ms, and runners inherit the effect.
    Nothing keeps running."""
    torch.set_num_threads(1)
    with torch.no_grad():
        a = torch.zeros(8, 8)
        (a @ a).sum().item()
        torch.nn.functional.conv2d(torch.zeros(1, 2, 4, 4), torch.zeros(2, 2, 3, 3))
        torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))(torch.zeros(2, 4))
    torch.default_generator.manual_seed(0)
    ast.parse("x: int = 1")
    try:
        import numpy
        numpy.random.seed(0)
    except ImportError:
        pass


def folders():
    """Folders that python reads when it imports; they are shown to runners. Only the outermost."""
    seen = [sys.prefix, sys.base_prefix, sys.exec_prefix] + [p for p in sys.path if p]
    seen.append(os.path.dirname(os.path.realpath(sys.executable)))
    found = []
    for path in sorted({os.path.abspath(p) for p in seen if os.path.isdir(p)}, key=len):
        inside = any(path == f or path.startswith(f.rstrip("/") + "/") for f in found)
        if not inside and path != "/":
            found.append(path)
    return found


def tools():
    """Facts that builds of extensions depend on: the files of the compilers, and the name and
    features of the processor (-march=native)."""
    found = []
    for name in ("c++", "nvcc", "ninja"):
        path = shutil.which(name)
        path = os.path.realpath(path) if path else ""
        about = os.stat(path) if path else None
        found.append([name, path] + ([about.st_size, about.st_mtime_ns] if about else []))
    with open("/proc/cpuinfo") as f:
        found += sorted({line.strip() for line in f
                         if line.startswith(("model name", "flags", "Features"))})
    return found


def cupti():
    """File name of the CUPTI that torch has loaded, which profiles; None without one."""
    with open("/proc/self/maps") as f:
        mapped = {line.split(None, 5)[5].strip() for line in f if "/libcupti" in line}
    return os.path.basename(os.path.realpath(min(mapped))) if mapped else None


def harness():
    """A hash of these files: what they say of a problem is kept by it."""
    made, folder = hashlib.sha256(), os.path.dirname(os.path.abspath(__file__))
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as f:
                made.update(hashlib.sha256(f.read()).digest())
    return made.hexdigest()


def facts(torch, triton_version):
    with open("/proc/self/statm") as f:
        pages = int(f.read().split()[0])
    return {"python": sys.version.split()[0], "executable": sys.executable,
            "torch": torch.__version__, "triton": triton_version,
            "cuda_built": torch.version.cuda, "cupti": cupti(), "tools": tools(),
            "folders": folders(), "vm_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
            "threads": threads(), "harness": harness()}


def receive(sock):
    """One request and its descriptors; None at the end."""
    size = array.array("i").itemsize
    data, ancillary, _, _ = sock.recvmsg(1 << 16, socket.CMSG_SPACE(NFDS * size),
                                         socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[:len(payload) - len(payload) % size])
    if not data:
        return None
    return json.loads(data), list(fds)


def start_runner(request, fds, probe):
    """Runs in the first child: enters new namespaces, forks the runner there, and exits."""
    control, plan = fds[0], fds[1]
    probe.leave(plan, control)
    pid = os.fork()
    if pid != 0:
        probe.born(control, pid)
        os._exit(0)
    probe.climb(plan, control, [-1] + fds[2:])
    from . import runner
    runner.main(request, probe)


def first_child(request, fds, probe):
    status = 1
    try:
        start_runner(request, fds, probe)
    except BaseException as error:
        os.write(2, ("kgym: runner: %s: %s\n" % (type(error).__name__, error)).encode())
    os._exit(status)


def threads():
    return len(os.listdir("/proc/self/task"))


def settle():
    """Takes existing objects out of garbage collection, so that children neither visit nor copy
    them."""
    gc.collect()
    gc.freeze()


def idle(sock):
    return not select.select([sock], [], [], 0)[0]


def serve(sock, probe, chores):
    """chores: work that makes later children faster. It is done after the first child, when no
    request waits, because the first one is a reference and needs none of it."""
    while True:
        got = receive(sock)
        if got is None:
            return
        request, fds = got
        status = -1
        if len(fds) == NFDS:
            pid = os.fork()
            if pid == 0:
                first_child(request, fds, probe)
            status = os.waitpid(pid, 0)[1]
        for fd in fds:
            os.close(fd)
        sock.send(json.dumps({"status": status}).encode())
        while chores and idle(sock):
            chores.pop(0)()
            settle()
            if threads() != 1:
                print("kgym: zygote: a chore has started a thread: cannot fork", file=sys.stderr)
                sys.exit(1)


def main():
    sock = None
    try:
        sock = socket.socket(fileno=SOCKET_FD)
    except OSError:
        pass
    # programs that were installed beside python, such as ninja, which builds extensions
    os.environ["PATH"] = os.path.join(sys.prefix, "bin") + ":" + os.environ.get("PATH", "")
    gc.disable()  # imports leave little to collect, and the search takes a seventh of the time
    with bytecode(os.environ.pop("KGYM_PYTHON_CACHE", None)):
        torch, triton_version = import_all(sock)
        from . import building, runner  # noqa: F401  imported once, here
        from .probe import Probe
        warm(torch)
    chores = building.chores() if os.environ.pop("KGYM_CUDA", None) else []
    try:
        probe = Probe(os.environ.pop("KGYM_PROBE"))
    except (KeyError, OSError, AttributeError) as error:
        refuse(sock, "cannot use libkgym_probe (KGYM_PROBE): %s" % error)
    line = json.dumps(facts(torch, triton_version))
    if sock is None:
        print(line)
        return
    gc.freeze()
    gc.enable()
    sock.send(line.encode())
    serve(sock, probe, chores)


if __name__ == "__main__":
    main()
