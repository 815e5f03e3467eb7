"""Judges the PyTorch corpora with kgym and prints the confusion matrix of catalogue entries.

    tests/torch/corpus.py BUILD [--jobs N] [--gpu] [--small] [--only WORD] [--shard I/N] [--runs N]
                                [--keep FOLDER] [--naive] [--beside FILE] [--set KEY=VALUE]
    tests/torch/corpus.py --lint

Without --gpu the fixtures that only a GPU can show are left out. --small: on copies of the problems
at small sizes (small.py), but for fixtures whose header says `shape: published`. --shard: the I-th
of N parts, whole problems, about as much in each. Interrupted, it shows what was judged so far and
fails. Words of the matrix: `expected`, a verdict that the fixture names; `other`, refused for
another reason; `harmless`, ok where the fixture is right and no faster than what it names as its
equal; `missed`, anything else. On a GPU an ok whose speed nobody knows is missed, unless the header
allows that (`unmeasured`); where others' work hid it, it is judged once more, alone. Honest
fixtures and the shipped candidates that fixtures are compared with must be ok. --naive: the column
`naive`, those that fool naive.py, or do to an unconfined host what they say (control.py). --beside:
a file of lines `entry word naive` of another corpus, printed as columns of the same matrix, or
alone where no BUILD is named. --lint looks at headers, catalogue.md and docs/hacks.md only. Exit
status 0: nothing missed, no honest one refused, every control works, host unchanged."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import small
from fixtures import HERE, entries, fixtures, lint
from traces import host_state

MARGIN = 1.10  # of a harmless candidate over its honest equal
K_DIFFERS_NS = 20000  # from worker to worker: much of a time that is short
DISTURBED = "somebody else's work is on the device"  # why no speed was measured
WORDS = ("expected", "other", "harmless", "missed")


def judge(build, chosen, given, folder, extra):
    """Records by fixture name."""
    public = small.published()
    problems = small.write_copies(folder) if given.small else public
    lines = [{"id": f.name, "problem": (public if f.published else problems)[f.problem],
              "source_file": str(f.path)} for f in sorted(chosen, key=lambda f: f.problem)]
    path, out = folder / "in.jsonl", folder / "out.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out.unlink(missing_ok=True)
    command = [f"{build}/kgym", "eval", "--batch", str(path), "--out", str(out), "--jobs",
               str(given.jobs), *extra]
    with open(folder / "log.txt", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            process.wait()
        except KeyboardInterrupt:  # of the whole group: kgym writes what it has
            process.wait()
    records = map(json.loads, out.read_text().splitlines() if out.exists() else ())
    return {r["batch_id"]: r for r in records}


def judge_all(build, chosen, given, folder):
    """What a fixture of chapter A gains shows in the stage profile, which is off as it comes."""
    extra = [word for pair in given.set for word in ("--set", pair)]
    profiled = [f for f in chosen if given.gpu and f.entry.startswith("A")]
    rest = [f for f in chosen if f not in profiled]
    records = judge(build, rest, given, folder, extra)
    if profiled:
        beside = folder / "profiled"
        beside.mkdir(exist_ok=True)
        records.update(judge(build, profiled, given, beside, [*extra, "--stage-profile"]))
    return records


def disturbed(f, records):
    """Others' work on the device hid its speed: a fixture's, that keeps to no turns."""
    record = records.get(f.name)
    return record is not None and record["verdict"] == "ok" and record["speedup"] is None and \
        DISTURBED in (record["timing"]["why"] or "")


def ask_again(chosen, records, given, folder):
    """Those are judged once more, with nobody beside them."""
    again = [f for f in chosen if disturbed(f, records)]
    if again:
        print("again, since somebody else's work was on the device: " +
              " ".join(f.name for f in again), flush=True)
        alone = folder / "again"
        alone.mkdir(exist_ok=True)
        given = argparse.Namespace(**{**vars(given), "jobs": 1})
        records.update(judge_all(given.build, again, given, alone))


def said_of(record):
    if record is None:
        return "none"
    if record["verdict"] is None:
        return "error/" + (record["error"] or {}).get("code", "none")
    return record["verdict"] + (f"/{record['reason']}" if record["reason"] else "")


def unearned(f, records, timed):
    """Why its ok is a miss, or None: it is faster than the honest candidate it names, or nobody
    knows."""
    record = records[f.name]
    speed, status = record["speedup"], record["timing"]["status"]
    if f.entry.startswith("A") and (record["coverage"] or 0) > f.coverage:
        return f"coverage {record['coverage']:.2f}, not {f.coverage:.2f}"
    if speed is None:
        allowed = not timed or status in f.unmeasured and record["timing"]["why"]
        return None if allowed else f"no speed was measured ({status})"
    most = 1.0
    if f.equal != "reference":
        equal = (records.get(f.equal) or {}).get("speedup")
        most = equal["hi"] if equal else 1.0
    most = MARGIN * max(most, 1.0) * (1 + K_DIFFERS_NS / max(record["timing"]["candidate_ns"], 1))
    return None if speed["lo"] <= most else f"{speed['lo']:.2f} times as fast, not {most:.2f}"


def classify(f, records, timed):
    """(word, verdict, why it is a miss)"""
    said = said_of(records.get(f.name))
    if f.kind != "hostile":
        return ("ok" if said == "ok" else "refused"), said, None
    right = f.right(timed)
    if said == "ok":
        why = unearned(f, records, timed) if "ok" in right else "it is not right on every call"
        return ("missed" if why else "harmless"), said, why
    if said in right:
        return "expected", said, None
    return ("missed" if said == "none" or said.startswith("error/") else "other"), said, None


def surprise(f, word, said, why, record):
    """One line."""
    why = why or record.get("message") or (record.get("error") or {}).get("message", "")
    print(f"{word:9s}{f.name:30s} {f.entry:4s} {said}; expected {' '.join(f.right(True))}; {why}")


def one_run(chosen, records, timed):
    """Prints surprises; words by entry."""
    table = collections.defaultdict(collections.Counter)
    for f in chosen:
        word, said, why = classify(f, records, timed)
        table[f.entry if f.kind == "hostile" else f.kind][word] += 1
        if word in ("missed", "other", "refused"):
            surprise(f, word, said, why, records.get(f.name) or {})
    return table


# --- the naive column ---

def fooled_by(script, given, chosen):
    """({name: does it fool or harm}, lines that tell of those that do not)"""
    command = [sys.executable, "-B", str(HERE / script), "--jobs", str(given.jobs)]
    command += (["--gpu"] if given.gpu else []) + [f.name for f in chosen]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found, lines = {}, []
    for line in done.stdout.decode(errors="replace").splitlines():
        words = line.split()
        if len(words) > 2 and words[2] in ("accepted", "REFUSED"):
            found[words[0]] = words[2] == "accepted"
        if "REFUSED" in words or line.startswith(("skip:", "Traceback")):
            lines.append(line)
    return found, lines


def count_fooled(given, chosen, table):
    """Adds the column; the number of controls without effect."""
    bad = 0
    for script, host in (("naive.py", False), ("control.py", True)):
        asked = [f for f in chosen if f.kind == "hostile" and f.attacks_host == host]
        for gpu in (False, True) if given.gpu else (False,):
            part = [f for f in asked if f.gpu == gpu]
            if not part:
                continue
            found, lines = fooled_by(script, argparse.Namespace(jobs=given.jobs, gpu=gpu), part)
            print("\n".join("control  " + line for line in lines), end="\n" if lines else "")
            for f in part:
                table[f.entry]["naive"] += found.get(f.name, False)
            skipped = any(line.startswith("skip:") for line in lines)
            bad += 0 if skipped else sum(not found.get(f.name) for f in part)
    return bad


# --- the matrix ---

def beside(path):
    """Words by entry of another corpus."""
    table = collections.defaultdict(collections.Counter)
    for line in pathlib.Path(path).read_text().splitlines():
        entry, word, naive = line.split()
        table[entry][word] += 1
        table[entry]["naive"] += naive == "yes"
    return table


def matrix(tables, words):
    """tables: [(title, words by entry)]; one row for each entry that any has."""
    wide = 9 * len(words)
    print("\n" + " " * 6 + " |".join(f"{title:^{wide}s}" for title, _ in tables))
    print("entry " + " |".join("".join(f"{w:>9s}" for w in words) for _ in tables))
    rows = [e for e in entries() if any(e in t for _, t in tables)]
    for e in rows:
        print(f"{e:6s}" + " |".join("".join(f"{t[e][w] or '':>9}" for w in words)
                                    for _, t in tables))
    total = [{w: sum(t[e][w] for e in rows) for w in words} for _, t in tables]
    print("all   " + " |".join("".join(f"{s[w]:>9}" for w in words) for s in total))
    for (title, t), s in zip(tables, total):
        n = sum(s[w] for w in WORDS)
        honest = {w: t["honest"][w] + t["candidate"][w] for w in ("ok", "refused")}
        fooled = f", {s['naive']} fool or harm the naive evaluator" if "naive" in words else ""
        print(f"{title}: {n} hostile, {s['missed']} missed{fooled}; {honest['ok']} honest ok, "
              f"{honest['refused']} refused")


def options():
    o = argparse.ArgumentParser()
    o.add_argument("build", nargs="?")
    for name in ("--lint", "--gpu", "--small", "--naive"):
        o.add_argument(name, action="store_true")
    o.add_argument("--only", default="")
    o.add_argument("--shard", default="1/1")
    o.add_argument("--jobs", type=int, default=2)
    o.add_argument("--runs", type=int, default=1)
    o.add_argument("--keep")
    o.add_argument("--beside")
    o.add_argument("--set", action="append", default=[])
    return o.parse_args()


def load_of(fixture):
    """How long it takes beside others: what hangs, its deadlines."""
    return 10 if any(v.startswith("timeout") for v in fixture.expect + fixture.on_gpu) else 1


def chosen_of(found, given):
    chosen = [f for f in found if (given.gpu or not f.gpu) and given.only in f.name]
    part, parts = map(int, given.shard.split("/"))
    loads = collections.Counter()
    for f in chosen:
        loads[f.problem] += load_of(f)
    mine, taken = set(), [0] * parts
    for problem in sorted(loads, key=lambda p: (-loads[p], p)):
        least = taken.index(min(taken))
        taken[least] += loads[problem]
        if least == part - 1:
            mine.add(problem)
    return [f for f in chosen if f.problem in mine]


def run_and_show(given, chosen, folder, before):
    """The number of defects of one run."""
    records = judge_all(given.build, chosen, given, folder)
    ask_again(chosen, records, given, folder)
    judged = [f for f in chosen if f.name in records]
    table = one_run(judged, records, given.gpu)
    bad = sum(c["missed"] + c["refused"] for c in table.values())
    words = WORDS
    if given.naive:
        bad += count_fooled(given, chosen, table)
        words = (*WORDS, "naive")
    matrix([*([("C", beside(given.beside))] if given.beside else ()), ("PyTorch", table)], words)
    if len(judged) < len(chosen):
        print(f"NOT JUDGED: {len(chosen) - len(judged)}")
    new = host_state() - before
    print("host " + ("unchanged" if not new else "CHANGED: " + ", ".join(sorted(new))))
    return bad + len(chosen) - len(judged) + len(new)


def main():
    given = options()
    found = fixtures()
    if given.beside and not given.build:
        matrix([("C", beside(given.beside))], (*WORDS, "naive"))
        return 0
    if given.lint or not given.build:
        return 1 if lint(found) else 0
    chosen = chosen_of(found, given)
    before, bad = host_state(), 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(given.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for run in range(1, given.runs + 1):
            print(f"run {run} of {given.runs}: {len(chosen)} fixtures, {len(found) - len(chosen)} "
                  "left out", flush=True)
            bad += run_and_show(given, chosen, folder, before)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
