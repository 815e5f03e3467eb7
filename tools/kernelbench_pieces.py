"""What tools that judge problems of KernelBench in pieces share: the problems of a checkout, and batches of
`kgym eval` that go on where they ended, or where they were killed. It judges nothing itself."""

import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).absolute().parents[1]
LEFT, FAILED = 3, 2
STOP_S = 15  # of a piece: for kgym to end after it was interrupted


def die_with_parent():
    """A killed call leaves nothing that goes on writing: the next one reads what is there."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def fail(message):
    print("%s: %s" % (pathlib.Path(sys.argv[0]).stem, message), file=sys.stderr)
    sys.exit(FAILED)


def problems(checkout, levels, names):
    """[(level, path)] in the order of their numbers; names: those only, as LEVEL/NUMBER."""
    found = []
    for level in levels:
        folder = checkout / "KernelBench" / ("level%d" % level)
        paths = [p for p in folder.glob("*.py") if re.match(r"\d+_", p.name)]
        if not paths:
            fail("no problem in %s" % folder)
        found += [(level, p) for p in sorted(paths, key=lambda p: int(p.name.split("_")[0]))]
    if names:
        known = {"%d/%s" % (level, p.name.split("_")[0]) for level, p in found}
        for name in names:
            if name not in known:
                fail("no problem %s (LEVEL/NUMBER)" % name)
        found = [(v, p) for v, p in found if "%d/%s" % (v, p.name.split("_")[0]) in names]
    return found


def read(path):
    """Objects of a file of JSON lines; a last line that a kill has cut is left out."""
    objects = []
    if path.exists():
        for line in path.read_text(errors="replace").splitlines():
            try:
                objects.append(json.loads(line))
            except ValueError:
                continue
    return [o for o in objects if isinstance(o, dict)]


def ended(record):
    """Is this what was found, and no interruption?"""
    error = record.get("error")
    if error:
        return error["code"] != "cancelled"
    return record.get("verdict") is not None


class Pass:
    """One asking of some lines: its records, and the piece under way."""

    def __init__(self, out, name):
        self.kept, self.batch = out / (name + ".jsonl"), out / (name + ".piece.in.jsonl")
        self.piece = out / (name + ".piece.jsonl")
        self.ahead = out / (name + ".piece.jsonl.ahead")
        self.harvest()

    def harvest(self):
        """Records of a piece, also of one that was killed, become kept ones."""
        have = {r["batch_id"]: r for r in read(self.kept)}
        new = 0
        with open(self.kept, "a") as f:
            if f.tell() and not self.kept.read_bytes().endswith(b"\n"):
                f.write("\n")
            for r in read(self.piece) + read(self.ahead):
                if r.get("batch_id") and r["batch_id"] not in have and ended(r):
                    have[r["batch_id"]] = r
                    f.write(json.dumps(r) + "\n")
                    new += 1
        for path in (self.piece, self.ahead, self.batch):
            path.unlink(missing_ok=True)
        self.records = have
        return new

    def ask(self, lines, jobs, args, until, log):
        """Asks what is not answered yet. True when nothing is left."""
        left = [line for line in lines if line["id"] not in self.records]
        if not left:
            return True
        seconds = until - time.monotonic() - STOP_S
        if seconds <= 0:
            return False
        self.batch.write_text("".join(json.dumps(line) + "\n" for line in left))
        command = [args.kgym, "eval", "--batch", str(self.batch), "--out", str(self.piece)]
        if jobs:
            command += ["--jobs", str(jobs)]
        with open(log, "a") as f:
            try:
                process = subprocess.Popen(command + args.options, stdout=f, stderr=f,
                                           preexec_fn=die_with_parent)
            except OSError as error:
                fail("%s does not start: %s" % (args.kgym, error.strerror))
            try:
                process.wait(seconds)
                whole = True
            except subprocess.TimeoutExpired:
                whole = False
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        new = self.harvest()
        left = [line["id"] for line in lines if line["id"] not in self.records]
        if left and (whole or (new == 0 and seconds > args.seconds / 2)):
            fail("%s; %s says more. Without an answer: %s" % (
                "kgym ended with %d" % process.returncode if whole else
                "no line ended within %d s" % seconds, log, ", ".join(left[:5])))
        return not left


def arguments(parser):
    """The arguments, without options of `kgym eval`, which follow `--`."""
    argv = sys.argv[1:]
    cut = argv.index("--") if "--" in argv else len(argv)
    args = parser.parse_args(argv[:cut])
    args.options = argv[cut + 1:]
    if args.seconds <= STOP_S:
        parser.error("--seconds must be more than %d" % STOP_S)
    args.kgym = args.kgym or str(ROOT / "build" / "release" / "kgym")
    return args


def begin(out, lines, options):
    """A run that was begun in this folder must be of the same lines and options."""
    batch = "".join(json.dumps(line) + "\n" for line in lines)
    begun, settings = out / "batch.jsonl", out / "options.json"
    if begun.exists() and (begun.read_text() != batch or
                           json.loads(settings.read_text()) != options):
        fail("%s holds a run of other problems or options; name another folder" % out)
    settings.write_text(json.dumps(options) + "\n")
    begun.write_text(batch)
