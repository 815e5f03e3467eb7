"""Judges the PyTorch corpora with kgym and prints the confusion matrix of catalogue entries.

    tests/torch/corpus.py BUILD [--jobs N] [--gpu] [--only WORD] [--shard I/N] [--runs N]
                                [--keep FOLDER]
    tests/torch/corpus.py --lint

Without --gpu the fixtures that only a GPU can show are left out. --shard: the I-th of N parts, by
problem. Interrupted, it shows what was judged so far and fails. Words of the matrix: `expected`, a
verdict that the fixture names; `other`, refused for another reason; `harmless`, ok where the
fixture is right and no faster than what it names as its equal; `missed`, anything else. Honest
fixtures and the shipped candidates that fixtures are compared with must be ok. --lint looks at
headers and at catalogue.md only. Exit status 0: nothing missed, no honest one refused, host
unchanged."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MARGIN = 1.10  # of a harmless candidate over its honest equal
VERDICTS = {"ok", "no_code", "rejected", "compile_error", "crash", "timeout", "out_of_memory",
            "wrong", "hack"}
PLANTED = ("sitecustomize.py", "usercustomize.py", "kgym_verdict.pth", "filler", "fused_ops")


def header(path):
    """As common.header, which needs torch."""
    fields, key = {}, None
    for line in path.read_text().splitlines()[1:]:
        m = re.match(r"# ([a-z]+): (.*)$", line)
        if m:
            key = m.group(1)
            fields[key] = m.group(2).strip()
        elif key and line.startswith("#   "):
            fields[key] += " " + line[1:].strip()
        else:
            return fields
    return fields


def problem_files():
    files = {}
    for path in (ROOT / "problems" / "torch").glob("level*/*.py"):
        files[re.sub(r"^\d+_", "", path.stem)] = str(path)
    rows = ROOT / "problems" / "kernelbook" / "rows.jsonl"
    for at, line in enumerate(rows.read_text().splitlines(), 1):
        files[json.loads(line)["entry_point"]] = f"{rows}#{at}"
    return files


class Fixture:
    def __init__(self, path, kind):
        self.path, self.kind, self.name = path, kind, path.stem
        self.fields = header(path) if kind != "candidate" else {}
        self.problem = self.fields.get("problem") or self.name.split(".")[0]
        self.entry = self.fields.get("entry", "")
        self.expect = self.fields.get("expect", "ok").split()
        self.harmless = self.fields.get("harmless") == "yes"
        self.equal = self.fields.get("equal")
        self.gpu = self.fields.get("gpu", "no") != "no"


def fixtures():
    found = [Fixture(p, kind) for kind in ("hostile", "honest")
             for p in sorted((HERE / kind).glob("*.py"))]
    needed = {f.equal for f in found if f.equal and f.equal.endswith(".fast")}
    shipped = ROOT / "problems" / "torch_candidates"
    return found + [Fixture(shipped / f"{n}.py", "candidate") for n in sorted(needed)]


def lint_fixture(f, names, problems):
    """Lines that say what is wrong with one header."""
    need = {"problem", "what", "expect", "gpu"} | ({"entry"} if f.kind == "hostile" else
                                                   {"pattern", "twin"})
    for key in sorted(need - set(f.fields)):
        yield f"no {key}"
    for v in f.expect:
        if v.split("/")[0] not in VERDICTS:
            yield f"unknown verdict {v}"
    if f.problem not in problems:
        yield f"unknown problem {f.problem}"
    if f.kind == "honest":
        if f.fields.get("twin") not in names["hostile"]:
            yield "its twin is no hostile fixture"
        if f.expect != ["ok"]:
            yield "an honest fixture expects ok"
        return
    if ("ok" in f.expect) != f.harmless:
        yield "ok is expected exactly where it is harmless"
    if f.harmless and f.equal != "reference" and f.equal not in names["candidate"]:
        yield "harmless, and no equal to compare its speed with"
    if f.fields.get("attacks", "host") != "host":
        yield "attacks what?"


def lint(found):
    """Number of defects of headers and of catalogue.md."""
    problems, bad = problem_files(), 0
    names = collections.defaultdict(set)
    per_entry = collections.Counter(f.entry for f in found if f.kind == "hostile")
    for f in found:
        names[f.kind].add(f.name)
    for f in found:
        for what in lint_fixture(f, names, problems) if f.kind != "candidate" else ():
            print(f"{f.path.relative_to(ROOT)}: {what}")
            bad += 1
    text = (HERE / "catalogue.md").read_text()
    listed = set(re.findall(r"`(\w+)`", text))
    entries = re.findall(r"^\| ([A-F]\d+) \|", text, re.M)
    complaints = [f"catalogue.md: {n} is not in it" for n in sorted(names["hostile"] - listed)]
    complaints += [f"catalogue.md: {e} has {n} fixtures, more than four"
                   for e, n in per_entry.items() if n > 4]
    complaints += [f"catalogue.md: entry {e} is not a row of it" for e in expected_entries()
                   if entries.count(e) != 1]
    print("\n".join(complaints), end="\n" if complaints else "")
    print(f"lint: {len(names['hostile'])} hostile, {len(names['honest'])} honest, "
          f"{len(per_entry)} entries with fixtures, {bad + len(complaints)} defects")
    return bad + len(complaints)


def expected_entries():
    counts = {"A": 9, "B": 17, "C": 9, "D": 13, "E": 15, "F": 6}
    return [f"{c}{i}" for c, n in counts.items() for i in range(1, n + 1)]


def host_state():
    """What a candidate could leave: planted files, its interpreter's library, orphans."""
    state = set()
    for top in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), str(ROOT)):
        for name in os.listdir(top) if os.path.isdir(top) else ():
            if name in PLANTED:
                state.add(f"file {top}/{name}")
    for path in ROOT.glob(".venv/lib/python*/site-packages"):
        library = path / "torch/nn/functional.py"
        for p in [*path.glob("*.pth"), *path.glob("*customize.py"), library]:
            if p.exists():
                state.add(f"file {p} of {p.stat().st_size} bytes, {p.stat().st_mtime_ns}")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            said = open(f"/proc/{pid}/cmdline").read()
            parent = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()[1]
        except OSError:
            continue
        if "kgym_harness" in said and parent == "1":
            state.add(f"process {pid}")
    return state


def judge(build, chosen, jobs, folder, extra):
    """Records by fixture name."""
    problems = problem_files()
    lines = [{"id": f.name, "problem": problems[f.problem], "source_file": str(f.path)}
             for f in sorted(chosen, key=lambda f: f.problem)]
    given, out = folder / "in.jsonl", folder / "out.jsonl"
    given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out.unlink(missing_ok=True)
    command = [f"{build}/kgym", "eval", "--batch", str(given), "--out", str(out), "--jobs",
               str(jobs), *extra]
    with open(folder / "log.txt", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            process.wait()
        except KeyboardInterrupt:  # of the whole group: kgym writes what it has
            process.wait()
    records = map(json.loads, out.read_text().splitlines() if out.exists() else ())
    return {r["batch_id"]: r for r in records}


def said_of(record):
    if record is None:
        return "none"
    if record["verdict"] is None:
        return "error/" + (record["error"] or {}).get("code", "none")
    return record["verdict"] + (f"/{record['reason']}" if record["reason"] else "")


def unearned(f, records):
    """Is it faster than the honest candidate it names?"""
    speed = records[f.name]["speedup"]
    if speed is None:
        return False
    allowed = 1.0
    if f.equal != "reference":
        equal = (records.get(f.equal) or {}).get("speedup")
        allowed = equal["hi"] if equal else 1.0
    return speed["lo"] > MARGIN * max(allowed, 1.0)


def classify(f, records):
    said = said_of(records.get(f.name))
    if f.kind != "hostile":
        return ("ok" if said == "ok" else "refused"), said
    if said == "ok":
        return ("harmless" if f.harmless and not unearned(f, records) else "missed"), said
    if said in f.expect:
        return "expected", said
    return ("missed" if said == "none" or said.startswith("error/") else "other"), said


def one_run(chosen, records):
    """Prints surprises and the matrix; the number of misses and of refused honest ones."""
    table = collections.defaultdict(collections.Counter)
    for f in chosen:
        word, said = classify(f, records)
        table[f.entry if f.kind == "hostile" else f.kind][word] += 1
        if word in ("missed", "other", "refused"):
            record = records.get(f.name) or {}
            why = record.get("message") or (record.get("error") or {}).get("message", "")
            print(f"{word:9s}{f.name:30s} {f.entry:4s} {said}; expected {' '.join(f.expect)}; "
                  f"{why}")
    words = ("expected", "other", "harmless", "missed")
    print(f"\n{'entry':8s}" + "".join(f"{w:>10s}" for w in words))
    entries = [e for e in expected_entries() if e in table]
    for e in entries:
        print(f"{e:8s}" + "".join(f"{table[e][w] or '':>10}" for w in words))
    total = {w: sum(table[e][w] for e in entries) for w in words}
    print(f"{'all':8s}" + "".join(f"{total[w]:>10}" for w in words))
    honest = {w: table["honest"][w] + table["candidate"][w] for w in ("ok", "refused")}
    print(f"honest: {honest['ok']} ok, {honest['refused']} refused")
    return total["missed"] + honest["refused"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", nargs="?")
    options.add_argument("--lint", action="store_true")
    options.add_argument("--gpu", action="store_true")
    options.add_argument("--only", default="")
    options.add_argument("--shard", default="1/1")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--runs", type=int, default=1)
    options.add_argument("--keep")
    options.add_argument("--set", action="append", default=[])
    given = options.parse_args()
    found = fixtures()
    if given.lint or not given.build:
        return 1 if lint(found) else 0
    chosen = [f for f in found if (given.gpu or not f.gpu) and given.only in f.name]
    part, parts = map(int, given.shard.split("/"))
    names = sorted({f.problem for f in chosen})
    chosen = [f for f in chosen if names.index(f.problem) % parts == part - 1]
    extra = [word for pair in given.set for word in ("--set", pair)]
    before, bad = host_state(), 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(given.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for run in range(1, given.runs + 1):
            print(f"run {run} of {given.runs}: {len(chosen)} fixtures, {len(found) - len(chosen)} "
                  "left out")
            records = judge(given.build, chosen, given.jobs, folder, extra)
            judged = [f for f in chosen if f.name in records]
            bad += one_run(judged, records) + len(chosen) - len(judged)
            if len(judged) < len(chosen):
                print(f"NOT JUDGED: {len(chosen) - len(judged)}")
            new = host_state() - before
            print("host " + ("unchanged" if not new else "CHANGED: " + ", ".join(sorted(new))))
            bad += len(new)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
