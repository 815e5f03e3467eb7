#!/usr/bin/env python3
"""What tools/kernelbench-identity.sh runs: see there. It drives `kgym eval --batch` and sums up records; every
verdict, time and bound is kgym's."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

from kernelbench_candidates import right
from kernelbench_pieces import LEFT, Pass, arguments, begin, die_with_parent, fail, problems


def lines_of(found):
    """The batch: each reference as its own candidate."""
    lines = []
    for level, path in found:
        source = right(path.read_text())
        if source is None:
            fail("no class Model in %s" % path)
        lines.append({"id": "%d/%s" % (level, path.stem), "problem": str(path), "source": source})
    return lines


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
    args = arguments(parser)
    until = time.monotonic() + args.seconds
    out = args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    lines = lines_of(problems(args.checkout.absolute(), [int(v) for v in args.levels.split(",")],
                              [n for n in args.problems.split(",") if n]))
    begin(out, lines, args.options)
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
