#!/usr/bin/env python3
"""KernelGYM's protocol, and /v1 beside it, with real kernels: starts a service of its own, sends
what trainers send, and holds each answer to the protocol's tables.

    gpu-service.py KGYM OUT [--device D] [--jobs N] [--posts N] [--seconds S] [--only WORD,WORD...]

--device: cuda:0, or cpu, where rows that need a GPU are left out and said to be. --posts: requests
at once in the row of T6. --only: the rows whose name or tests hold one of the words. Prints a line
for each row, `UNLIKE` where it is not as it should be; OUT gets results.jsonl and what the service
said. Exit status 0: all as it should be; 1: not; 2: no service."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import gpu_table
import service_client as client
import service_forms as forms
from service_rows import ALONE, HOSTILE, INNOCENT, TRITON, WRONG, Texts

GRACE_S = 20  # to end the service


class Run(gpu_table.Table):
    """The service, its texts, and what came out so far."""

    def __init__(self, given, service, texts):
        super().__init__()
        self.given, self.service, self.texts = given, service, texts
        self.on_gpu = given.device != "cpu"
        self.tasks = 0
        self.numbers = itertools.count(1)
        self.results = open(os.path.join(given.out, "results.jsonl"), "w", encoding="utf-8")

    def name(self):
        """Of a new task; threads may ask at once."""
        self.tasks = next(self.numbers)
        return f"parallel_task_{self.tasks:06d}"

    def keep(self, name, answer):
        self.results.write(json.dumps({"row": name, "answer": answer}) + "\n")
        self.results.flush()

    def outcomes(self, row):
        """What is right here: on a CPU nothing is timed."""
        if self.on_gpu:
            return row.expect
        return tuple("untimed" if o == "success" else o for o in row.expect)

    def check(self, row, result):
        """What is unlike in the result of a row, by the expected outcome that is nearest."""
        found = min((client.unlike(result, o) for o in self.outcomes(row)), key=len)
        m, share = result["metadata"] or {}, client.coverage(result)
        if row.holds and row.holds not in (result["error_message"] or ""):
            found.append(f"error_message lacks {row.holds!r}: {result['error_message']!r:.200}")
        if self.on_gpu and row.own and (share is None or
                                        not row.own[0] - 0.001 <= share <= row.own[1] + 0.001):
            found.append(f"own share {share}, not {row.own[0]}..{row.own[1]}")
        if result["status"] == "completed" and \
                (m.get("precision"), m.get("league")) != ("tf32", "tf32"):
            found.append(f"league {m.get('league')}, precision {m.get('precision')}")
        if self.on_gpu and result["correctness"]:
            found += forms.metadata_of_right(m)
        if not found and result["correctness"] is False and result["status"] == "completed" and \
                not isinstance(m.get("integrity"), dict):
            found.append("no metadata.integrity")
        return found

    def judge(self, row):
        begun = time.monotonic()
        try:
            request = self.texts.request(row, self.name())
            result = client.submit_and_poll(self.service, request)
            found, words = self.check(row, result), client.said(result)
            self.keep(row.name, result)
        except (client.Unlike, OSError, ValueError, KeyError) as e:
            found, words = [f"{type(e).__name__}: {e}"], ""
        return row, time.monotonic() - begun, found, words

    def wanted(self, rows, words=lambda row: (row.name, row.tests)):
        """Those that --only names; all without it."""
        only = self.given.only
        return [r for r in rows if not only or any(w in text for w in only for text in words(r))]

    def together(self, rows):
        """All at once, as many as the service takes."""
        rows = self.wanted(rows)
        here = [r for r in rows if self.on_gpu or not r.gpu]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for row, seconds, found, words in pool.map(self.judge, here):
                self.tell(row.name, row.tests, seconds, found, words)
        for row in rows:
            if row not in here:
                self.skip(row.name, row.tests)

    def alone(self, rows):
        """One after the other, each followed by one that must not be worse for it."""
        for row in self.wanted(rows):
            if row.gpu and not self.on_gpu:
                self.skip(row.name, row.tests)
                continue
            _, seconds, found, words = self.judge(row)
            self.tell(row.name, row.tests, seconds, found, words)
            _, seconds, found, words = self.judge(INNOCENT)
            self.tell("  one after it", "T30", seconds, found, words)

    def call(self, function):
        """What a row says that is a function: (seconds, what is unlike, words)."""
        begun = time.monotonic()
        try:
            found, words = function(self)
        except (client.Unlike, OSError, ValueError, KeyError, TypeError) as e:
            found, words = [f"{type(e).__name__}: {e}"], ""
        return time.monotonic() - begun, found, words

    def each(self, table, at_once=1):
        """Rows that are functions: (name, tests, function, and "gpu" where only that shows it)."""
        table = self.wanted(table, lambda row: row[:2])
        here = [r for r in table if self.on_gpu or "gpu" not in r]
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for row, (seconds, found, words) in zip(
                    here, pool.map(lambda r: self.call(r[2]), here)):
                self.tell(row[0], row[1], seconds, found, words)
        for row in table:
            if row not in here:
                self.skip(row[0], row[1])


def start(given, folder):
    """(process, host, port) of a service in this folder."""
    said = open(os.path.join(given.out, "serve.txt"), "w", encoding="utf-8")
    process = subprocess.Popen(
        [given.kgym, "serve", "--port", "0", "--folder", os.path.join(folder, "store"), "--jobs",
         str(given.jobs)],
        env={**os.environ, "KGYM_DEVICE": given.device}, stdout=said, stderr=said)
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        text = pathlib.Path(said.name).read_text(encoding="utf-8")
        m = re.search(r"^kgym serve: http://([^:]+):(\d+)", text, re.M)
        if m:
            return process, m.group(1), int(m.group(2))
        time.sleep(0.1)
    print(pathlib.Path(said.name).read_text(encoding="utf-8"))
    end(process)
    sys.exit(2)


def end(process):
    """SIGTERM, and what the service makes of it: its exit status."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def await_device(service, device):
    """Waits until the worker has looked at its device; False: it is another one."""
    word = "cuda" if device != "cpu" else "torch"
    until = time.monotonic() + 120
    while time.monotonic() < until:
        for d in service.good("GET", "/v1/devices")["devices"]:
            if word in d["words"]:
                print(f"device {d['name']}: {' '.join(d['words'])}, {d['slots']} slots", flush=True)
                return True
            if "unknown" in d["words"] or "torch" in d["words"]:
                print(f"device {d['name']} offers {' '.join(d['words'])} only", flush=True)
                return False
        time.sleep(0.2)
    return False


def rows(run):
    idle = forms.Idle(run.service)
    run.each(forms.AT_FIRST)
    run.together(TRITON + WRONG + HOSTILE)
    run.each(forms.ASKED, at_once=4)
    run.each(forms.QUIET)
    run.alone(ALONE)
    run.each(forms.LATER)
    run.each([("connection idle for 31 s", "T6", idle.end)])


def main():
    parser = gpu_table.arguments(__doc__, seconds=450)
    parser.add_argument("--posts", type=int, default=768)
    parser.add_argument("--only", type=lambda text: [w for w in text.split(",") if w], default=[])
    given = parser.parse_args()
    os.makedirs(given.out, exist_ok=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        process, host, port = start(given, folder)
        service = client.Service(host, port, begun + given.seconds)
        run = Run(given, service, Texts(given.device != "cpu"))
        try:
            if not await_device(service, given.device):
                sys.exit(2)
            rows(run)
        except client.Late:
            run.tell("the rest", "", time.monotonic() - begun,
                     [f"not done in {given.seconds} s"], "")
        finally:
            status = end(process)
    if status != 0:
        run.tell("end by SIGTERM", "T22", 0, [f"exit status {status}"], "")
    print(f"service: {run.rows} rows, {run.unlike} not as they should be, {run.skipped} skipped, "
          f"{time.monotonic() - begun:.0f} s")
    sys.exit(1 if run.unlike else 0)


if __name__ == "__main__":
    main()
