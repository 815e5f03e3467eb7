"""clients/collect.py against the stand-in service and endpoint: what it writes, and that a kill of
everything in the middle loses, doubles and resamples nothing. Run by tests/unit/test_clients.c."""

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
COLLECT = os.path.join(HERE, "..", "..", "clients", "collect.py")
sys.path[:0] = [HERE]
sys.dont_write_bytecode = True
import stand_in  # noqa: E402

TURN = {"turn", "reply", "finish", "record", "verdict", "reason", "speedup", "speedup_lo",
        "coverage", "rewards", "feedback", "shared", "extra"}
WHOLE = {"schema", "id", "group", "problem", "configuration", "source", "system", "prompt",
         "turns", "end", "extra"}


class Rig(unittest.TestCase):
    def setUp(self):
        self.service = stand_in.Service()
        self.server = stand_in.Server(self.service)
        self.folder = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.folder.name, "out.jsonl")

    def tearDown(self):
        self.server.end()
        self.folder.cleanup()

    def start(self, problems, *more, **how):
        command = [sys.executable, "-B", COLLECT, "--endpoint", self.server.url + "/v1", "--model",
                   "m", "--gym", self.server.url, "--problems", problems, "--out", self.out, *more]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **how)

    def run_to(self, status, problems, *more, **how):
        process = self.start(problems, *more, **how)
        said = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, status, said)
        return said

    def lines(self):
        with open(self.out, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


class Form(Rig):
    def test_a_trajectory_is_whole(self):
        self.run_to(0, "relu", "--logprobs", "--system", "be brief", "--language", "triton")
        line, = self.lines()
        self.assertLessEqual(WHOLE, set(line))
        self.assertEqual(line["meta"]["name"], line["id"])
        self.assertEqual((line["end"], len(line["turns"])), ("done", 3))
        self.assertIn("in triton", line["prompt"])
        self.assertEqual(line["problem"], {"name": "relu", "hash": "ab" * 32, "level": 1})
        for n, turn in enumerate(line["turns"], 1):
            self.assertLessEqual(TURN, set(turn))
            self.assertEqual(turn["turn"], n)
            self.assertEqual(turn["extra"]["logp"], [-0.5])
            self.assertEqual(turn["usage"], {"completion_tokens": 1})
        self.assertEqual([t["verdict"] for t in line["turns"]], ["wrong", "ok", "ok"])
        self.assertEqual([t["rewards"]["dr-kernel"] for t in line["turns"]], [0.0, 3.0, 3.0])
        self.assertEqual(line["turns"][0]["feedback"], "Your answer: wrong.")
        self.assertIsNone(line["turns"][2]["feedback"])
        self.assertEqual(line["turns"][2]["finish"], "length")
        job = self.service.jobs[line["turns"][1]["evaluation"]]
        text = json.dumps(job["record"], separators=(",", ":")).encode()
        self.assertEqual(line["turns"][1]["record"], hashlib.sha256(text).hexdigest())

    def test_the_model_sees_the_conversation(self):
        self.run_to(0, "relu")
        line, = self.lines()
        longest = max((json.loads(c) for c in self.service.conversations), key=len)
        self.assertEqual([m["role"] for m in longest], ["user", "assistant"] * 2 + ["user"])
        self.assertEqual(longest[0]["content"], line["prompt"])
        self.assertEqual(longest[1]["content"], line["turns"][0]["reply"])
        self.assertEqual(longest[4]["content"], line["turns"][1]["feedback"])

    def test_ends(self):
        self.run_to(0, "unlucky,defective,overlong,relu")
        ends = {line["problem"]["name"]: line for line in self.lines()}
        self.assertEqual({name: line["end"] for name, line in ends.items()},
                         {"unlucky": "infra", "defective": "defect", "overlong": "full",
                          "relu": "done"})
        last = ends["unlucky"]["turns"][-1]
        self.assertEqual((last["rewards"], last["verdict"], last["record"]), ({}, "", None))
        unlucky = self.service.trajectories[ends["unlucky"]["extra"]["trajectory"]]
        self.assertEqual(unlucky["turns"][-1]["jobs"], 2)  # sent again once, not for ever
        self.assertEqual(len(ends["overlong"]["turns"]), 1)
        if os.environ.get("COLLECTED"):  # for a reader in another language
            shutil.copy(self.out, os.environ["COLLECTED"])

    def test_what_fails_is_left_for_the_next_run(self):
        said = self.run_to(1, "relu,nothing", "--deadline-s", "5")
        self.assertIn("1 left", said)
        self.assertEqual([line["problem"]["name"] for line in self.lines()], ["relu"])
        self.run_to(2, "relu,relu")
        self.run_to(2, "relu", "--samples", "0")

    def test_what_ended_without_a_turn_has_no_line(self):
        self.service.open({"key": "collect-relu-0", "problem": "relu", "group": "g", "meta": {},
                           "max_turns": 3})[1]["end"] = "idle"
        self.assertIn("1 written", self.run_to(0, "relu,gelu"))
        self.assertEqual([line["problem"]["name"] for line in self.lines()], ["gelu"])

    def test_a_full_disk_leaves_whole_lines(self):
        self.run_to(0, "relu")
        size = os.path.getsize(self.out)

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100))

        self.assertIn("2 left", self.run_to(1, "relu,gelu,norm", preexec_fn=little_room))
        self.assertEqual(os.path.getsize(self.out), size)
        self.run_to(0, "relu,gelu,norm")
        self.assertEqual(len(self.lines()), 3)

    def test_whoever_waits_is_told_for_what(self):
        for away in ("--endpoint", "--gym"):
            said = self.run_to(1, "relu,softmax", away, "http://127.0.0.1:1", "--deadline-s", "1")
            self.assertEqual(said.count("asking again"), 1, said)
            self.assertIn("http://127.0.0.1:1", said)

    def test_a_token_is_read_from_a_file(self):
        path = os.path.join(self.folder.name, "token")
        self.service.token = "s3cret"
        self.run_to(1, "relu")
        self.run_to(2, "relu", "--token-file", path)
        with open(path, "w", encoding="ascii") as f:
            f.write("s3cret\n")
        self.run_to(0, "relu", "--token-file", path)


class Restart(Rig):
    def test_everything_is_killed_in_the_middle(self):
        samples, more = 50, ("--samples", "50", "--jobs", "8", "--deadline-s", "60")
        problems = "relu,gelu,softmax,norm"
        total, port = 4 * samples, self.server.port
        for share in (0.2, 0.5):
            process = self.start(problems, *more)
            while self.service.samples < 3 * total * share and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.server.end()
            with open(self.out, "ab") as f:
                f.write(b'{"schema": "kgym.traj')  # as a kill in a write leaves it
            self.server = stand_in.Server(self.service, port)
        self.run_to(0, problems, *more)
        lines = self.lines()
        self.assertEqual(len({line["id"] for line in lines}), total)
        self.assertEqual(len(lines), total)
        for line in lines:
            self.assertEqual([t["verdict"] for t in line["turns"]], ["wrong", "ok", "ok"])
        # A reply that the service has taken is neither sampled again nor judged twice: what a kill may
        # cost is the replies under way.
        self.assertLessEqual(self.service.samples, 3 * total + 2 * 8)
        self.assertEqual(len(self.service.jobs), 3 * total)
        before = self.service.samples
        self.run_to(0, problems, *more)
        self.assertEqual((self.service.samples, len(self.lines())), (before, total))


if __name__ == "__main__":
    unittest.main()
