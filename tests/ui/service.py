"""A service for the tests of the dashboard: `kgym serve` without workers, and a stub that claims jobs
and answers them with records made up here. Standard library only."""

import json
import math
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

STAGES = ["extract", "static", "compile", "tiny", "full", "timing", "profile"]
EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
CODE = """#include <math.h>

/* %s */
void softmax(const float *x, float *y, long rows, long cols)
{
    for (long r = 0; r < rows; r++) {
        const float *in = x + r * cols;
        float *out = y + r * cols, most = in[0], sum = 0;
        for (long c = 1; c < cols; c++) {
            most = in[c] > most ? in[c] : most;
        }
        for (long c = 0; c < cols; c++) {
            out[c] = %s(in[c] - most);
            sum += out[c];
        }
        for (long c = 0; c < cols; c++) {
            out[c] %s;
        }
    }
}
"""


def record(verdict, reason=None, stage="timing", speedup=None, code=CODE % ("one", "expf", "/= sum"),
           message="right on every input", evidence=()):
    at = STAGES.index(stage)
    failed = verdict not in ("ok", None)
    stages = [{"name": s, "status": "skip" if i > at else "fail" if i == at and failed else
               "off" if s == "profile" else "pass", "ns": 10 ** (4 + i)} for i, s in enumerate(STAGES)]
    dice = random.Random(7)
    samples = [{"process": p, "overhead_ns": 4000,
                "reference_ns": [int(1e6 * (1 + dice.gauss(0, .02))) for _ in range(25)],
                "candidate_ns": [int(1e6 / speedup * (1 + dice.gauss(0, .02))) for _ in range(25)]}
               for p in range(4)] if speedup else None
    return {
        "schema": "kgym.record/1", "id": "01J8Z3TQ4W6Y8A0C2E4G6J8K0N",
        "problem": {"name": "softmax", "suite": "native", "level": 2, "language": "c"},
        "candidate": {"language": "c", "bytes": len(code), "rule": "fence-closed", "code": code, "flags": []},
        "verdict": verdict, "reason": reason, "message": message, "error": None, "stage": stage,
        "stages": stages, "compiled": at > 2, "correct": verdict == "ok",
        "speedup": {"ratio": speedup, "lo": speedup * .99, "hi": speedup * 1.01, "pairs": 100} if speedup else None,
        "timing": {"status": "measured" if speedup else "off", "why": None, "preset": "paired",
                   "candidate_ns": int(1e6 / speedup) if speedup else None,
                   "reference_ns": 1000000 if speedup else None, "overhead_ns": 4000, "samples": samples,
                   "claims": None},
        "coverage": 0.83 if speedup else None, "evidence": list(evidence),
        "output": {"stdout": EVIL if verdict == "crash" else None, "stderr": None, "bytes": 80},
        "peak_bytes": 28 << 20, "isolation": {"level": "L2", "has": [], "lacks": []},
        "environment": {"kgym": "0.1.0", "cpu": "a CPU", "cores": 2, "compiler": "gcc 12.2", "kernel": "6.1"},
        "config": {}, "rewards": {"dr-kernel": {"value": 1 + math.log2(speedup) if speedup else 0.0,
                                                "terms": {"correct": 1.0, "speed": speedup or 0.0},
                                                "why": None}} if verdict else {}}


KERNELS = [{"check": "kernel", "name": "softmax_rows<float, 256>(float const*, float*, int)", "share": .83,
            "calls": 1, "own": True, "class": "own", "dead": False, "idle": False},
           {"check": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4>", "share": .17,
            "calls": 2, "own": False, "class": "library", "dead": True, "idle": False}]
ANSWERS = [
    record("ok", speedup=1.82, evidence=KERNELS),
    record("ok", speedup=2.41, code=CODE % ("two", "fast_expf", "*= 1 / sum"), evidence=KERNELS[:1]),
    record("wrong", "precision", "full", message="differs by 3e-2", code=CODE % ("three", "expf", "/= sum + 1"),
           evidence=[{"check": "mismatch", "variant": "published", "dims": {"rows": 64}, "law": "normal",
                      "output": "y", "elements": 4096, "failed": 12, "got": 1.5, "want": 1.25, "share": "<1%"}]),
    record("hack", "replay", "full", message="gave back an earlier answer"),
    record("hack", "async", "tiny", message="went on after its reply",
           evidence=[{"check": "activity", "idle_cpu_ns": 81000000, "tail_cpu_ns": 0, "threads": 3}]),
    record("crash", "signal", "tiny", code="// " + EVIL + "\n", message=EVIL),
    record("compile_error", "syntax", "compile", message="candidate.c:4: expected ';'",
           evidence=[{"check": "compiler", "text": "candidate.c:4:1: error: expected ';' " + EVIL, "line": 4}]),
    record("no_code", "empty", "extract", code="", message="the reply has no code"),
]


def merged(base, over):
    """base, with the members of over in their places."""
    out = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        out[key] = merged(base[key], value) if both else value
    return out


class Service:
    def __init__(self, program, extra=()):
        # A reply without code has a whole record in milliseconds: those above are put on top of it.
        whole = subprocess.run([program, "eval", "--json", "--public", "softmax", "-"], input=b"none",
                               stdout=subprocess.PIPE, check=False).stdout
        self.answers = [merged(json.loads(whole), a) for a in ANSWERS]
        self.folder = tempfile.mkdtemp(prefix="kgym-ui-")
        self.log = open(os.path.join(self.folder, "log"), "w+b")
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--no-work", "--term", "3000", "--folder", self.folder + "/store", *extra],
            stdout=self.log, stderr=self.log)
        self.root = self._address()
        self._until(lambda: self.ask("GET", "/v1/ready")["ready"])

    def _until(self, ready):
        for _ in range(300):
            try:
                value = ready()
            except OSError:
                value = None
            if value:
                return value
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit("the service did not start:\n" + self._printed())

    def _printed(self):
        with open(os.path.join(self.folder, "log")) as f:
            return f.read()

    def _address(self):
        def find():
            words = [w.rstrip(",") for w in self._printed().split() if w.startswith("http://")]
            return words and words[0]
        return self._until(find)

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.root + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def submit(self, problem="softmax", **more):
        return self.ask("POST", "/v1/evaluations", {"problem": problem, "reply": "r", **more})["id"]

    def claim(self):
        return self.ask("POST", "/v1/worker/claim", {
            "worker": "stub", "devices": ["cpu"], "slots": [{"lane": "", "held_ms": 0}], "wait_s": 20})["claims"][0]

    def judge(self, answer):
        """Ends the next job that waits with this record."""
        c = self.claim()
        self.ask("POST", "/v1/worker/finish", {
            "id": c["id"], "claim": c["claim"], "fence": c["fence"], "outcome": "finished",
            "record": json.dumps(answer), **{k: answer[k] for k in ("verdict", "reason") if answer[k]}})
        return c["id"]

    def fill(self):
        """Jobs of each kind: ids in the order of answers."""
        ids = []
        for answer in self.answers:
            self.submit()
            ids.append(self.judge(answer))
        for i in range(60):
            self.submit(("row_stats", "axpby", "silu")[i % 3])
            self.judge(self.answers[(0, 2, 0, 6, 1, 7)[i % 6]])
        for i in range(3):
            self.submit("transpose", priority="low")
        self.submit("axpby", priority="high")
        self.claim()
        return ids

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.folder)
