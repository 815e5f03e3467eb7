"""clients/collect.py against `kgym serve` itself: client and service are killed in the middle, and
the same commands go on. Every reply is without code, so each turn takes milliseconds. Run by
tests/unit/test_clients.c."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
COLLECT = os.path.join(HERE, "..", "..", "clients", "collect.py")
KGYM = os.path.join(os.environ.get("KGYM_BUILD", "build/release"), "kgym")
sys.path[:0] = [HERE]
sys.dont_write_bytecode = True
import stand_in  # noqa: E402

SAMPLES, TURNS, JOBS = 20, 3, 4


def serve(folder, port):
    process = subprocess.Popen([KGYM, "serve", "--port", str(port), "--folder", folder, "--jobs",
                                "2"], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline().split("127.0.0.1:")[1].split(",")[0])


def lines_of(url):
    with urllib.request.urlopen(url) as answer:
        return [json.loads(line) for line in answer.read().splitlines()]


model = stand_in.Server(stand_in.Service())
with tempfile.TemporaryDirectory() as folder:
    out, store = os.path.join(folder, "out.jsonl"), os.path.join(folder, "store")
    service, port = serve(store, 0)
    command = [sys.executable, "-B", COLLECT, "--endpoint", model.url + "/v1", "--model", "m",
               "--gym", f"http://127.0.0.1:{port}", "--problems", "silu,axpby", "--samples",
               str(SAMPLES), "--turns", str(TURNS), "--jobs", str(JOBS), "--out", out]
    client = subprocess.Popen(command)
    total = 2 * SAMPLES
    while model.service.samples < total * TURNS // 3 and client.poll() is None:
        time.sleep(0.01)
    for process in (client, service):
        process.send_signal(signal.SIGKILL)
        process.wait()
    service, _ = serve(store, port)
    try:
        subprocess.run(command, check=True, timeout=200)
        with open(out, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        assert len(lines) == total == len({line["id"] for line in lines}), len(lines)
        assert all(len(line["turns"]) == TURNS and line["end"] == "done" for line in lines)
        # A kill costs the replies that were under way, and no turn is judged twice.
        assert model.service.samples <= total * TURNS + JOBS, model.service.samples
        jobs = lines_of(f"http://127.0.0.1:{port}/v1/stats")[0]["jobs"]
        assert jobs["done"] == total * TURNS, jobs
        exported = lines_of(f"http://127.0.0.1:{port}/v1/trajectories/export")
        assert len(exported) == total == len({line["id"] for line in exported}), len(exported)
    finally:
        service.terminate()
        service.wait()
print("\nOK")
