#!/usr/bin/env python3
"""`kgym bench`, `kgym refine` and their reports with real kernels: a stand-in for a model sends the
candidates that ship, and each command's own numbers are held to what they must be.

    gpu-trial.py KGYM OUT [--device D] [--jobs N] [--kernelbench FOLDER] [--seconds S]

--device: cuda:0, or cpu, where nothing is timed and the problems are few. --kernelbench: that
project's problems (its folder KernelBench); four are judged at their published sizes, their own
references as answers. OUT gets the runs with their reports. Exit status 0: all as it should be."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import gpu_table

TREE = pathlib.Path(__file__).resolve().parent.parent
PUBLISHED = ["19_ReLU", "23_Softmax", "40_Matmul_Scaling_ResidualAdd", "1_MLP"]  # of 3 levels
ROUNDS = 6


class Trial(gpu_table.Table):
    def __init__(self, given):
        super().__init__()
        self.given = given
        self.on_gpu = given.device != "cpu"
        self.until = time.monotonic() + given.seconds
        candidates = TREE / "problems" / "torch_candidates"
        self.endpoint = subprocess.Popen(
            [sys.executable, "-B", TREE / "tests" / "support" / "kernel_endpoint.py", candidates,
             f"{given.out}/ledger.txt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"endpoint:http://127.0.0.1:{self.endpoint.stdout.readline().strip()}/v1"

    def kgym(self, *words):
        """Exit status and the two outputs of a command."""
        left = max(1.0, self.until - time.monotonic())
        try:
            r = subprocess.run([self.given.kgym, *map(str, words)], capture_output=True, text=True,
                               timeout=left, check=False,
                               env={**os.environ, "KGYM_DEVICE": self.given.device})
        except subprocess.TimeoutExpired:
            return 124, "", "not done in time"
        return r.returncode, r.stdout, r.stderr

    def end_row(self, name, begun, found, words):
        self.tell(name, "", time.monotonic() - begun, found, words)

    def run(self, *words):
        return self.kgym(*words, "--policy", self.url, "--json", "--workers", self.given.jobs)


def lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def kernels(record):
    """Those that the stage `profile` saw."""
    return [e for e in record["evidence"] if e["check"] == "kernel"]


def report(trial, run):
    """What is wrong with the page of a run, which must show a kernel's name where one was seen."""
    status, _, said = trial.kgym("report", run)
    page = next(iter(pathlib.Path(run).glob("*.html")), None)
    if status != 0 or page is None:
        return [f"kgym report {run}: {status}: {said[-300:]}"]
    names = {k["name"] for r in lines(f"{run}/records.jsonl") for k in kernels(r)}
    text = page.read_text()
    return [] if not names or any(n in text for n in names) else [
        f"no kernel of {sorted(names)[:4]} in {page}"]


def needs_gpu(trial, record):
    """Triton at a published shape is not interpreted."""
    return not trial.on_gpu and (record["error"] or {}).get("code") == "needs_gpu"


def bench(trial, name, suite, *more):
    """Wrong answers in the first turn, right ones in the second. False: it did not end."""
    begun, folder = time.monotonic(), f"{trial.given.out}/{name}"
    status, out, said = trial.run("bench", suite, "--turns", 2, "--out", folder, *more)
    if status != 0:
        trial.end_row(f"bench {name}", begun, [f"exit status {status}: {said[-600:]}"], "")
        return False
    turns = [[], []]
    for r in lines(f"{folder}/records.jsonl"):
        turns[int(r["batch_id"][-1]) - 1].append(r)
    found = [f"{r['batch_id']}: {r['verdict']}/{r['reason']}: {r['message']!r:.200}"
             for r in turns[0] if r["verdict"] in ("ok", None)]
    found += [f"{r['batch_id']}: {r['verdict']}/{r['reason']}: {r['message']!r:.200}"
              for r in turns[1] if r["verdict"] != "ok" and not needs_gpu(trial, r)]
    if trial.on_gpu:
        found += [f"{r['batch_id']}: timing {r['timing']['status']}: {r['timing'].get('why')}"
                  for r in turns[1] if r["verdict"] == "ok" and
                  r["timing"]["status"] != "measured"]
    found += report(trial, folder)
    busy = re.search(r"busy for (\d+) %", said + out)
    trial.end_row(f"bench {name}", begun, found,
               f"{len(turns[1])} problems" + (f", workers busy {busy.group(1)} %" if busy else ""))
    return True


def kernelbench(trial):
    """Four problems as published, and the result files for that project's tables."""
    names = f"{trial.given.out}/names.txt"
    pathlib.Path(names).write_text("".join(f"{n}\n" for n in PUBLISHED))
    if not bench(trial, "published", trial.given.kernelbench, "--subset", names,
                 "--language", "pytorch"):
        return
    begun, right = time.monotonic(), 0
    for file in pathlib.Path(f"{trial.given.out}/published/kernelbench").glob(
            "level*/eval_results.json"):
        results = json.loads(file.read_text())
        right += sum(s["correctness"] and s["runtime"] > 0 for p in results.values() for s in p)
    trial.end_row("its result files", begun, [] if right == len(PUBLISHED) else [f"{right} right"],
               f"{right} right and timed")


def refine(trial):
    """One operator: a wrong answer, then the fast one again and again."""
    begun, folder = time.monotonic(), f"{trial.given.out}/refined"
    if not trial.on_gpu:
        trial.skip("refine", "")
        return
    status, out, said = trial.run("refine", "07_activation_chain", "--turns", ROUNDS, "--out",
                                  folder, "--set", "stage.profile=yes")
    best = pathlib.Path(folder, "best.record.json")
    if status != 0 or not best.exists():
        trial.end_row("refine", begun, [f"exit status {status}: {said[-600:]}{out[-300:]}"], "")
        return
    record, rounds, found = json.loads(best.read_text()), lines(f"{folder}/rounds.jsonl"), []
    if [r["verdict"] == "ok" for r in rounds] != [False] + [True] * (ROUNDS - 1):
        found.append(f"verdicts {[r['verdict'] for r in rounds]}")
    if rounds[1]["again"] is None or rounds[1]["again"]["verdict"] != "ok":
        found.append(f"the first best was not judged again: {rounds[1]['again']}")
    speeds = [r["best_speedup"] for r in rounds if r["best_speedup"] is not None]
    if speeds != sorted(speeds):
        found.append(f"the best one became slower: {speeds}")
    seen = kernels(record)
    if not seen:
        found.append("no kernels in the best one's profile")
    ratio = (record["speedup"] or {}).get("ratio")
    trial.end_row("refine", begun, found + report(trial, folder),
               f"{ROUNDS} rounds, best {ratio}, {len(seen)} kernels")


def main():
    parser = gpu_table.arguments(__doc__, seconds=300)
    parser.add_argument("--kernelbench", default="")
    trial = Trial(parser.parse_args())
    try:
        bench(trial, "torch", "torch", "--subset", "12@1" if trial.on_gpu else "2@1")
        refine(trial)
        if trial.given.kernelbench:
            kernelbench(trial)
    finally:
        trial.endpoint.stdin.close()
        trial.endpoint.wait()
    sys.exit(1 if trial.unlike else 0)


if __name__ == "__main__":
    main()
