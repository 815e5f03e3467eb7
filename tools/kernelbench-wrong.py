#!/usr/bin/env python3
"""What tools/kernelbench-wrong.sh runs: see there. It drives `kgym eval --batch` and sums up records; every
verdict is kgym's."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from kernelbench_candidates import WRONG, wrong
from kernelbench_pieces import LEFT, ROOT, Pass, arguments, begin, fail, problems

FEW = 64  # elements of an answer
OMISSIONS = ("half-batch", "last-row")


def python():
    """One that has torch."""
    own = ROOT / ".venv" / "bin" / "python"
    return os.environ.get("KGYM_PYTHON") or (str(own) if own.exists() else sys.executable)


def sizes(found, out):
    """{path: {bytes, answer}} of all that can be found out; kept in the folder."""
    kept = out / "sizes.json"
    if not kept.exists():
        told = subprocess.run([python(), str(ROOT / "tools" / "kernelbench_sizes.py")], text=True,
                              input="\n".join(str(path) for _, path in found),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines = [json.loads(line) for line in told.stdout.splitlines()]
        kept.write_text(json.dumps({line["path"]: line for line in lines}))
    return json.loads(kept.read_text())


def choose(args, out):
    """[(level, path, facts)], the largest first."""
    found = problems(args.checkout.absolute(), [int(v) for v in args.levels.split(",")],
                     [n for n in args.problems.split(",") if n])
    known = sizes(found, out)
    found = [(level, path, known.get(str(path)) or {}) for level, path in found]
    if not args.problems:
        if not any(facts.get("bytes") for _, _, facts in found):
            fail("%s has no torch, which tells sizes of inputs: set KGYM_PYTHON" % python())
        found = sorted(found, key=lambda f: -(f[2].get("bytes") or 0))[:args.count]
    return found


def few(facts):
    return facts.get("answer") is not None and facts["answer"] < FEW


def lines_of(found, kinds, evaluations):
    lines = []
    for level, path, facts in found:
        for kind in kinds:
            times = evaluations if few(facts) and kind in OMISSIONS else 1
            for k in range(times):
                lines.append({"id": "%d/%s %s %d" % (level, path.stem, kind, k + 1),
                              "problem": str(path), "source": wrong(path.read_text(), kind)})
    return lines


def outcome(record):
    """ok, seen, defect, or what else was said"""
    error = record.get("error")
    if error:
        return "defect" if error["blame"] == "problem" else "%s/%s" % (error["code"], error["blame"])
    return {"ok": "ok", "wrong": "seen", "hack": "seen"}.get(record["verdict"], record["verdict"])


def cell(outcomes):
    """seen, or `ok 2/20, ...`: the worst outcomes of a problem and a kind."""
    counts = {o: outcomes.count(o) for o in outcomes if o != "seen"}
    return ", ".join(o if len(outcomes) == 1 else "%s %d/%d" % (o, n, len(outcomes))
                     for o, n in sorted(counts.items())) or "seen"


def table(found, kinds, said):
    """(lines, number of candidates that were `ok`, number of those without a verdict)"""
    show = "%-44s %9s %9s" + "  %-14s" * len(kinds)
    text = [(show % (("problem", "input MB", "answer") + tuple(kinds))).rstrip()]
    missed = lost = 0
    for level, path, facts in found:
        cells = []
        for kind in kinds:
            ids = [i for i in said if i.startswith("%d/%s %s " % (level, path.stem, kind))]
            got = [said[i] for i in ids]
            if kind == "half-precision" and few(facts) and got == ["ok"]:
                cells.append("ok (few)")
                continue
            cells.append(cell(got) if got else "-")
            missed += got.count("ok")
            lost += sum(o not in ("ok", "seen", "defect") for o in got)
        size = facts.get("bytes")
        text.append((show % (("%d/%s" % (level, path.stem))[:44], "-" if size is None else size >> 20,
                             "-" if facts.get("answer") is None else facts["answer"],
                             *cells)).rstrip())
    text.append("%d candidates: %d seen, %d ok, %d without a verdict about their answer" % (
        len(said), sum(o == "seen" for o in said.values()), missed, lost))
    return text, missed, lost


def main():
    parser = argparse.ArgumentParser(prog="kernelbench-wrong.sh", allow_abbrev=False)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--problems", default="")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--kinds", default=",".join(WRONG))
    parser.add_argument("--evaluations", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=540)
    parser.add_argument("--kgym", default=None)
    args = arguments(parser)
    kinds = args.kinds.split(",")
    if not set(kinds) <= set(WRONG):
        parser.error("--kinds: of " + ", ".join(WRONG))
    until, out = time.monotonic() + args.seconds, args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    found = choose(args, out)
    lines = lines_of(found, kinds, args.evaluations)
    begin(out, lines, args.options)
    first, again = Pass(out, "first"), Pass(out, "alone")
    log = out / "kgym.log"
    done = first.ask(lines, args.jobs, args, until, log)
    for line in lines if done else []:
        if outcome(first.records[line["id"]]) not in ("ok", "seen", "defect") and done:
            done = again.ask([line], 1, args, until, log)
    said = {line["id"]: outcome({**first.records, **again.records}[line["id"]])
            for line in lines if line["id"] in first.records}
    text, missed, lost = table(found, kinds, said)
    (out / "table.txt").write_text("\n".join(text) + "\n")
    print("\n".join(text if done else text[-1:]))
    if not done:
        print("more is left: the same command goes on")
        sys.exit(LEFT)
    sys.exit(1 if missed or lost else 0)


if __name__ == "__main__":
    main()
