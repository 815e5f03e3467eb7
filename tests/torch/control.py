"""The control of the hostile fixtures that attack the host: what each does to the naive evaluator
and to the machine where nothing confines it, in namespaces that are thrown away.

    .venv/bin/python tests/torch/control.py [--jobs N] [--gpu] [NAME...]

Everything that is mounted becomes read-only there; folders for temporary files, and the folder that
Python is installed in, are covered by memory. A fixture's header says what must be seen:
`attacks: host down` the evaluator died by a signal, hung, or lost its device; `planted` files in
folders that the next one reads; `filled` no room left for temporary files; `memory` all that it
was allowed was taken; `left` a process that goes on. Exit status 1 where one is not seen, 0 with a
line `skip:` where the host allows no such namespaces."""

import argparse
import concurrent.futures
import ctypes
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

import fixtures
import traces

HERE = pathlib.Path(__file__).resolve().parent
NAIVE = HERE / "naive.py"
SPACES = ["unshare", "--mount", "--pid", "--ipc", "--net", "--uts", "--fork", "--kill-child",
          "--mount-proc"]
LIMIT_S = 12  # of one evaluation; 90 where compilers are at work first
MEMORY = 2 << 30
MOST_PROCESSES = 100
FLAGS = {"ro": 1, "nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048,
         "relatime": 1 << 21}
REMOUNT, BIND, RDONLY = 32, 4096, 1

libc = ctypes.CDLL(None, use_errno=True)


# --- inside: process 1 of a namespace ---

def mount(source, target, kind, flags=0, data=None):
    words = [w.encode() if w is not None else None for w in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def read_only():
    """Every mount but /proc, which is this namespace's own."""
    with open("/proc/self/mountinfo") as f:
        lines = [line.split(" ") for line in f]
    for words in lines:
        at = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), words[4])
        if at == "/proc" or at.startswith("/proc/") or not os.path.exists(at):
            continue
        kept = sum(FLAGS.get(word, 0) for word in words[5].split(","))
        mount(None, at, None, kept | REMOUNT | BIND | RDONLY)


def cover():
    """Memory where candidates may write; returns where writes to Python's folder show."""
    read_only()
    for at, size in (("/tmp", "64m"), ("/var/tmp", "16m"), ("/dev/shm", "16m"), ("/mnt", "64m")):
        if os.path.isdir(at):
            mount("none", at, "tmpfs", 0, f"size={size},mode=1777")
    prefix = os.path.realpath(sys.prefix)
    for name in ("upper", "work"):
        os.mkdir("/mnt/" + name)
    mount("none", prefix, "overlay", 0,
          f"lowerdir={prefix},upperdir=/mnt/upper,workdir=/mnt/work")
    return pathlib.Path("/mnt/upper")


def others(known):
    """Processes that are neither this one nor known."""
    return [p for p in os.listdir("/proc") if p.isdigit() and p != "1" and int(p) != known]


def state_of(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1][0]
    except OSError:
        return ""


def watch(process, limit):
    """Its exit status; None where it hangs. Too many processes end the namespace at once."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if process.poll() is not None:
            return process.returncode
        if len(others(process.pid)) > MOST_PROCESSES:
            print("effect: down: more processes than a machine stands", flush=True)
            os._exit(0)
        time.sleep(0.005)
    return None


def effects(status, said, upper):
    """What is to be seen, each as `word: how`."""
    if status is None or status < 0:
        yield f"down: {'it hangs' if status is None else f'killed by signal {-status}'}"
    died = re.search(r"exit status -\d+|device lost", said)
    if died:
        yield f"down: {died[0]}"
    files = [p for p in upper.rglob("*") if p.is_file()]
    files += [p for p in pathlib.Path("/tmp").rglob("*")
              if p.name in traces.PLANTED and p.name != "filler"]
    if files:
        yield f"planted: {len(files)}, {files[0]}"
    room = os.statvfs("/tmp")
    if room.f_bavail * room.f_bsize < 1 << 20:
        yield "filled: /tmp"
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if most << 10 > MEMORY // 2:
        yield f"memory: {most >> 10} MB"
    alive = [p for p in others(0) if state_of(p) not in ("Z", "X", "")]
    if status is not None and alive:
        yield f"left: {len(alive)} processes"


def inside(name, gpu):
    """One fixture; prints what is to be seen, and takes everything with it."""
    upper = cover()
    os.makedirs("/tmp/home/work")
    os.chdir("/tmp/home/work")
    environment = {**os.environ, "HOME": "/tmp/home", "TMPDIR": "/tmp", "PYTHONPATH": "",
                   "PYTHONDONTWRITEBYTECODE": "1", "NAIVE_LIMIT": "60" if gpu else "6"}
    command = [sys.executable, str(NAIVE), "--host", *(["--gpu"] if gpu else []), name]

    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not gpu:
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    with open("/mnt/said", "w+b") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, preexec_fn=limits,
                                   env=environment, start_new_session=True)
        status = watch(process, 90 if gpu else LIMIT_S)
        out.seek(0)
        said = out.read().decode(errors="replace")
    for line in effects(status, said, upper):
        print("effect: " + line)
    print("said: " + " ".join(said.split())[-160:], flush=True)
    os._exit(0)


# --- outside ---

def spaces():
    """The command that makes them, or None."""
    for words in (SPACES, [SPACES[0], "--map-root-user", *SPACES[1:]]):
        if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            return words
    return None


def control(words, fixture, gpu):
    """(does it show, a line)"""
    command = [*words, sys.executable, __file__, "--inside", fixture.name]
    try:
        done = subprocess.run(command + (["--gpu"] if gpu else []), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=150)
        said = done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        said = "the control itself hangs"
    seen = re.findall(r"^effect: ((\w+).*)$", said, re.M)
    shown = [how for how, word in seen if word == fixture.effect]
    how = shown[0] if shown else "; ".join(h for h, _ in seen) or " ".join(said.split())[-200:]
    word = "accepted" if shown else "REFUSED "  # as naive.py says it
    return bool(shown), f"{fixture.name:34s} {fixture.entry:4s} {word}  {how}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--gpu", action="store_true")
    options.add_argument("--inside")
    options.add_argument("names", nargs="*")
    given = options.parse_args()
    if given.inside:
        inside(given.inside, given.gpu)
    words = spaces()
    if words is None:
        print("skip: controls: this host allows no namespaces to throw away")
        return 0
    chosen = [f for f in fixtures.fixtures() if f.attacks_host and f.gpu == given.gpu and
              (not given.names or f.name in given.names)]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(lambda f: control(words, f, given.gpu), chosen))
    print("\n".join(line for _, line in found))
    shown = sum(ok for ok, _ in found)
    print(f"control: {shown} do what they say, {len(found) - shown} do not")
    return shown < len(found)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
