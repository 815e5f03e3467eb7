"""The clients against a service that runs: check_serve.py URL. Every reply is without code, so each
evaluation takes milliseconds. Run by tests/unit/test_svc_reward.c."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.join(HERE, "..", "..", "clients")
sys.path[:0] = [HERE, CLIENTS]
sys.dont_write_bytecode = True
import kgym  # noqa: E402
import stand_in  # noqa: E402

url = sys.argv[1]
gym = kgym.Gym(url, timeout_s=120)
record = gym.evaluate("silu", reply="nothing", rewards="ladder")
assert record["schema"] == "kgym.record/1" and record["verdict"] == "no_code", record
assert gym.reward("silu", reply="nothing", preset_reward="ladder") == -1.0
assert any(problem["problem"] == "silu" for problem in gym.problems())
assert "silu" in gym.prompt("silu")
os.environ.update(KGYM_URL=url, KGYM_REWARD="ladder")
assert kgym.compute_score("k", "nothing", "silu")["score"] == -1.0
assert kgym.reward_func(prompts=["p"] * 3, completions=["nothing"] * 3,
                        problem=["silu"] * 3) == [-1.0] * 3
for call in (lambda: gym.evaluate("sillu", reply="x"), lambda: gym.evaluate("../x.c", reply="x"),
             lambda: gym.evaluate("silu", reply="x", preset="none")):
    try:
        call()
        raise SystemExit("was not refused")
    except kgym.Refused as refusal:
        assert refusal.field, refusal

model = stand_in.Server(stand_in.Service())
with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "out.jsonl")
    command = [sys.executable, "-B", os.path.join(CLIENTS, "collect.py"), "--endpoint",
               model.url + "/v1", "--model", "m", "--gym", url, "--problems", "silu", "--samples",
               "2", "--turns", "2", "--out", out, "--rewards", "ladder"]
    subprocess.run(command, check=True, timeout=200)
    with open(out, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
assert len(lines) == 2, lines
for line in lines:
    assert line["end"] == "done" and len(line["problem"]["hash"]) == 64, line
    assert [turn["rewards"] for turn in line["turns"]] == [{"ladder": -1.0}] * 2, line
    assert len(line["turns"][0]["feedback"]) > 20, line
print("OK")
