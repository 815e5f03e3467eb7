"""What a candidate could leave on the host: planted files, torch's own files changed, processes."""

import os
import pathlib

import small

PLANTED = ("sitecustomize.py", "usercustomize.py", "kgym_verdict.pth", "filler", "fused_ops")
OBJECTS = ("fused_ops", "matmul", "softmax")  # of e15_planted_object, in caches of builds
CACHES = ("~/.cache/torch_extensions/py311_cu130", "~/.triton/cache", "/kgym/cache", "/var/cache")


def planted_files():
    """Each as a line."""
    home = os.path.expanduser("~")
    for top in ("/tmp", "/var/tmp", "/dev/shm", home, str(small.ROOT)):
        for name in os.listdir(top) if os.path.isdir(top) else ():
            if name in PLANTED:
                yield f"file {top}/{name}"
    caches = [os.path.expanduser(c) for c in CACHES]
    caches += [os.environ[v] for v in ("TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR")
               if v in os.environ]
    for folder in caches:
        for name in OBJECTS:
            path = os.path.join(folder, name, name + ".so")
            if os.path.exists(path):
                yield f"file {path}"


def start_up_files(site_packages):
    """What Python reads there when it starts, and a file of torch's that is worth changing."""
    library = site_packages / "torch/nn/functional.py"
    for p in [*site_packages.glob("*.pth"), *site_packages.glob("*customize.py"), library]:
        if p.exists():
            yield f"file {p} of {p.stat().st_size} bytes, {p.stat().st_mtime_ns}"


def orphans():
    """Processes of the harness that nobody waits for."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            said = open(f"/proc/{pid}/cmdline").read()
            parent = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()[1]
        except OSError:
            continue
        if "kgym_harness" in said and parent == "1":
            yield f"process {pid}"


def host_state():
    state = {*planted_files(), *orphans()}
    for path in small.ROOT.glob(".venv/lib/python*/site-packages"):
        state.update(start_up_files(pathlib.Path(os.path.realpath(path))))
    return state
