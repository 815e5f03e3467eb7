#!/usr/bin/env python3
"""What tools/kernelbench-identity.sh runs: see there. It drives `kgym eval --batch` and sums up records; every
verdict, time and bound is kgym's."""

import argparse
import ctypes
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

LEFT, FAILED = 3, 2
STOP_S = 15  # of a piece: for kgym to end after it was interrupted


def die_with_parent():
    """A killed call leaves nothing that goes on writing: the next one reads what is there."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def fail(message):
    print("kernelbench-identity: " + message, file=sys.stderr)
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


def lines_of(found):
    """The batch: each reference as its own candidate."""
    lines = []
    for level, path in found:
        source, n = re.subn(r"\bModel\b", "ModelNew", path.read_text())
        if not n:
            fail("no class Model in %s" % path)
        lines.append({"id": "%d/%s" % (level, path.stem), "problem": str(path), "source": source})
    return lines


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


def judged(record):
    """outcome: ok, miss (ok, but not as fast as itself), untimed, defect, error or a verdict; why."""
    error, speedup, timing = record.get("error"), record.get("speedup"), record.get("timing") or {}
    if error:
        return ("defect" if error["blame"] == "problem" else "error",
                "%s/%s: %s" % (error["code"], error["blame"], error["message"]))
    if record["verdict"] != "ok":
        return "/".join(filter(None, (record["verdict"], record["reason"]))), record["message"]
    if not speedup:
        off = timing.get("status") == "off" or (record["environment"].get("device") == "cpu")
        return ("ok" if off else "untimed"), timing.get("why") or ""
    held = speedup["lo"] is not None and speedup["lo"] <= 1 <= speedup["hi"]
    return ("ok" if held or abs(speedup["ratio"] - 1) <= 0.02 else "miss"), timing.get("why") or ""


def result(line, records):
    """What is told of a line: its last record, but of two defects the first."""
    last = records[-1]
    if len(records) == 2 and [judged(r)[0] for r in records] == ["defect"] * 2:
        last = records[0]
    outcome, why = judged(last)
    stages = sum(s["ns"] or 0 for s in last.get("stages") or [])
    peaks = [e.get("peak_bytes") for e in last.get("evidence") or [] if e["check"] == "device_memory"]
    speedup = last.get("speedup") or {}
    return {"id": line["id"], "outcome": outcome, "why": why, "asked": len(records),
            "first": judged(records[0])[0],
            "ratio": speedup.get("ratio"), "lo": speedup.get("lo"), "hi": speedup.get("hi"),
            "seconds": round(((last.get("setup_ns") or 0) + stages) / 1e9, 2),
            "peak_bytes": max((p for p in peaks if p), default=None)}


def samples(path):
    """(largest memory in bytes, mean share of the time busy) as nvidia-smi said; None: it said nothing."""
    used, busy = [], []
    if path.exists():
        for line in path.read_text(errors="replace").splitlines():
            fields = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*", line)
            if fields:
                used.append(int(fields[1]) << 20)
                busy.append(int(fields[2]) / 100)
    return (max(used), statistics.mean(busy)) if used else (None, None)


def table(results, peak, busy, wall):
    show = "%-44s %-16s %6s %15s %8s %9s %5s  %s"
    text = [show % ("problem", "outcome", "ratio", "interval", "seconds", "peak MB", "asked", "why")]
    for r in results:
        text.append((show % (
            r["id"][:44], r["outcome"][:16], "-" if r["ratio"] is None else "%.3f" % r["ratio"],
            "-" if r["lo"] is None else "%.3f to %.3f" % (r["lo"], r["hi"]), "%.1f" % r["seconds"],
            "-" if r["peak_bytes"] is None else r["peak_bytes"] >> 20, r["asked"],
            " ".join(r["why"].split())[:300])).rstrip())
    counts = {}
    for r in results:
        counts[r["outcome"]] = counts.get(r["outcome"], 0) + 1
    text.append("%d lines: %s" % (len(results), ", ".join(
        "%s %d" % (k, n) for k, n in sorted(counts.items(), key=lambda c: (c[0] != "ok", -c[1], c[0])))))
    seconds = [r["seconds"] for r in results] or [0]
    text.append("seconds per evaluation: median %.1f, mean %.1f, most %.1f; wall time %.0f s" % (
        statistics.median(seconds), statistics.mean(seconds), max(seconds), wall))
    text.append("device: " + ("not sampled (no nvidia-smi)" if peak is None else
                              "at most %d MB taken, busy %.0f %% of the time" % (peak >> 20, 100 * busy)))
    return text


def main():
    parser = argparse.ArgumentParser(prog="kernelbench-identity.sh", allow_abbrev=False)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--problems", default="")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=540)
    parser.add_argument("--gpu", default="0")
    parser.add_argument("--kgym", default=None)
    argv = sys.argv[1:]
    cut = argv.index("--") if "--" in argv else len(argv)
    args = parser.parse_args(argv[:cut])
    args.options = argv[cut + 1:]
    if args.seconds <= STOP_S:
        parser.error("--seconds must be more than %d" % STOP_S)
    root = pathlib.Path(__file__).absolute().parents[1]
    args.kgym = args.kgym or str(root / "build" / "release" / "kgym")
    until = time.monotonic() + args.seconds
    out = args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    lines = lines_of(problems(args.checkout.absolute(), [int(v) for v in args.levels.split(",")],
                              [n for n in args.problems.split(",") if n]))
    batch = "".join(json.dumps(line) + "\n" for line in lines)
    begun = out / "batch.jsonl"
    settings = out / "options.json"
    if begun.exists() and (begun.read_text() != batch or
                           json.loads(settings.read_text()) != args.options):
        fail("%s holds a run of other problems or options; name another folder" % out)
    settings.write_text(json.dumps(args.options) + "\n")
    begun.write_text(batch)
    started, sampler = time.monotonic(), None
    with open(out / "device.csv", "a") as f:
        try:
            sampler = subprocess.Popen(
                ["nvidia-smi", "-i", args.gpu, "--query-gpu=memory.used,utilization.gpu",
                 "--format=csv,noheader,nounits", "-lms", "500"],
                stdout=f, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        except OSError:
            pass
        try:
            done, first, again = run(lines, args, until, out)
        finally:
            if sampler:
                sampler.terminate()
                sampler.wait()
    with open(out / "wall.txt", "a") as f:
        f.write("%.1f\n" % (time.monotonic() - started))
    wall = sum(float(v) for v in (out / "wall.txt").read_text().split())
    results = [result(line, [p.records[line["id"]] for p in (first, again) if line["id"] in p.records])
               for line in lines if line["id"] in first.records]
    (out / "results.jsonl").write_text("".join(json.dumps(r) + "\n" for r in results))
    text = table(results, *samples(out / "device.csv"), wall)
    (out / "table.txt").write_text("\n".join(text) + "\n")
    print("\n".join(text if done else text[-3:]))
    if not done:
        print("more is left: the same command goes on")
        sys.exit(LEFT)
    sys.exit(any(r["outcome"] not in ("ok", "defect") for r in results))


def run(lines, args, until, out):
    log = out / "kgym.log"
    first, again = Pass(out, "first"), Pass(out, "alone")
    done = first.ask(lines, args.jobs, args, until, log)
    if done:
        missed = [v for v in lines if judged(first.records[v["id"]])[0] != "ok"]
        for line in missed:  # a batch of its own each: nothing is prepared beside it
            done = again.ask([line], 1, args, until, log)
            if not done:
                break
    return done, first, again


if __name__ == "__main__":
    main()
