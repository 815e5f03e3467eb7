"""Code of slime, verl, OpenRLHF and KernelGYM against a service: check_peers.py URL DIR. Of each
checkout in DIR the functions run that ask for a reward; models, engines and processes around them
are stand-ins. Run by tools/peers-check.sh."""

import asyncio
import importlib
import importlib.util
import inspect
import logging
import os
import random
import subprocess
import sys
import time
import types
import uuid
from abc import ABC, abstractmethod
from copy import deepcopy
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
CLIENTS = os.path.join(ROOT, "clients")
sys.path[:0] = [HERE, CLIENTS]
sys.dont_write_bytecode = True
import aiohttp  # noqa: E402
import httpx  # noqa: E402

from lift import lift  # noqa: E402

url, folder = sys.argv[1:]
with open(os.path.join(ROOT, "problems", "candidates", "silu.fast.c"), encoding="utf-8") as f:
    RIGHT = "```c\n" + f.read() + "```\n"
WRONG = "no code"
SLOW = -0.1  # `ladder` of a right reply on a busy host; a wrong one has -0.3


class Space(types.SimpleNamespace):
    """A configuration: members by attribute and by get()."""

    def get(self, name, other=None):
        return getattr(self, name, other)


def raises(call):
    try:
        return not call() and False
    except Exception:  # noqa: BLE001: whatever the peer makes of it, it is no reward
        return True


def same(got, wanted, what):
    assert got == wanted, f"{what}: {got!r}, not {wanted!r}"


# --- slime ---

def slime(at):
    scope = lift(os.path.join(at, "slime", "rollout", "rm_hub", "__init__.py"),
                 ["_get_shared_session", "remote_rm"],
                 {"aiohttp": aiohttp, "asyncio": asyncio, "random": random, "_shared_session": None,
                  "logger": logging.getLogger("slime")})

    async def ask(reply, label, query="?reward=ladder", tries=10):
        args = types.SimpleNamespace(rm_url=url + "/v1/reward" + query)
        sample = types.SimpleNamespace(prompt="p", response=reply, label=label)
        try:
            return await scope["remote_rm"](args, sample, tries)
        finally:
            await scope["_get_shared_session"]().close()

    same(asyncio.run(ask(WRONG, "silu")), -1.0, "no code")
    right = asyncio.run(ask(RIGHT, "silu"))
    assert right >= SLOW, right
    assert raises(lambda: asyncio.run(ask(WRONG, "none", tries=1))), "an unknown problem paid"
    late = "?reward=ladder&wait=0"
    assert raises(lambda: asyncio.run(ask("late", "silu", late, 1))), "a late reward paid"
    return f"remote_rm: -1, {right}; an unknown problem and a late answer raise"


# --- verl ---

class Row(list):
    """As much of a tensor of token ids as the manager uses."""

    @property
    def shape(self):
        return (len(self),)

    def sum(self):
        return sum(list(self))

    def __getitem__(self, at):
        got = list.__getitem__(self, at)
        return Row(got) if isinstance(at, slice) else got


class Manager:
    def __init__(self, _config, tokenizer):
        self.tokenizer = tokenizer
        self.loop = asyncio.get_running_loop()


def verl(at):
    imports = {"importlib": importlib, "os": os, "sys": sys, "types": types,
               "PKG_PATH_PREFIX": "pkg://", "FILE_PATH_PREFIX": "file://"}
    lift(os.path.join(at, "verl", "utils", "import_utils.py"),
         ["load_module", "load_extern_object"], imports)
    sys.modules["verl"] = types.ModuleType("verl")
    sys.modules["verl.utils"] = types.ModuleType("verl.utils")
    sys.modules["verl.utils.import_utils"] = Space(load_extern_object=imports["load_extern_object"])
    scope = lift(os.path.join(at, "verl", "trainer", "ppo", "reward.py"),
                 ["_call_with_kwargs", "get_custom_reward_fn"],
                 {"inspect": inspect, "partial": partial})
    score = scope["get_custom_reward_fn"]({"custom_reward_function": {
        "path": os.path.join(CLIENTS, "kgym.py"), "name": "compute_score"}})
    scope.update(RewardManagerBase=Manager, default_compute_score=None)
    lift(os.path.join(at, "verl", "experimental", "reward_loop", "reward_manager", "naive.py"),
         ["NaiveRewardManager"], scope)

    async def ask(reply, problem):
        ids = Row(map(ord, reply))
        tokenizer = Space(decode=lambda row, **_: "".join(map(chr, row)))
        item = Space(batch={"responses": Row(ids + [0, 0]),
                            "attention_mask": Row([1] * 3 + [1] * len(ids) + [0, 0])},
                     non_tensor_batch={"data_source": "kgym", "extra_info": {},
                                       "reward_model": {"ground_truth": problem}})
        return await scope["NaiveRewardManager"](None, tokenizer, score).run_single([item])

    os.environ.update(KGYM_URL=url, KGYM_REWARD="ladder")
    wrong, right = asyncio.run(ask(WRONG, "silu")), asyncio.run(ask(RIGHT, "silu"))
    same(wrong["reward_score"], -1.0, "no code")
    same(wrong["reward_extra_info"]["verdict"], "no_code", "its verdict")
    assert right["reward_score"] >= SLOW and right["reward_extra_info"]["acc"] == 1.0, right
    assert raises(lambda: asyncio.run(ask(WRONG, "none"))), "an unknown problem paid"
    return f"compute_score: -1, {right['reward_score']}; an unknown problem raises"


# --- OpenRLHF ---

class Ids(list):
    def tolist(self):
        return list(self)


def openrlhf(at):
    scope = lift(os.path.join(at, "openrlhf", "utils", "agent.py"),
                 ["AgentExecutorBase", "SingleTurnAgentExecutor"],
                 {"ABC": ABC, "abstractmethod": abstractmethod, "aiohttp": aiohttp,
                  "asyncio": asyncio, "deepcopy": deepcopy, "logger": logging.getLogger("rlhf")})

    class Tokenizer:
        def __call__(self, text, **_):
            return {"input_ids": [Ids(map(ord, text))]}

        def decode(self, ids, **_):
            return "".join(map(chr, ids))

    def ask(reply, label, query="?reward=ladder"):
        async def generate(*_args, **_more):
            return Space(outputs=[Space(token_ids=list(map(ord, reply)), finish_reason="stop",
                                        logprobs=None)])
        executor = scope["SingleTurnAgentExecutor"](url + "/v1/reward" + query)
        return asyncio.run(executor.execute(
            "Improve this:\n```c\nint x;\n```\n", label, Space(max_tokens=64, logprobs=None), 65536,
            Tokenizer(), Space(generate=generate)))

    wrong, right = ask(WRONG, "silu"), ask(RIGHT, "silu")
    same((wrong["reward"], wrong["scores"]), (-1.0, -1.0) if not isinstance(
        wrong["reward"], list) else ([-1.0], [-1.0]), "no code")
    value = right["reward"][0] if isinstance(right["reward"], list) else right["reward"]
    assert value >= SLOW, right["reward"]
    same(ask(WRONG, "none")["reward"], None, "an unknown problem")
    return f"remote reward: -1, {value}; of an unknown problem it has none"


# --- KernelGYM ---

class Remote:
    """A function or an actor of Ray, called in this process."""

    def __init__(self, call):
        self.call = call

    def remote(self, *args, **more):
        return self.call(*args, **more)


class Bucket:
    @classmethod
    def options(cls, **_):
        return Remote(lambda *_args: cls())

    acquire = release = get_current_count = Remote(lambda: 0)


REFERENCE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(64, 512)]
def get_init_inputs():
    return []
"""
NO_KERNEL = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x
"""
OTHER = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.abs(x)
"""
PLAIN = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0)
"""


def kernelgym(at):
    ray = Space(get=lambda value: value, wait=lambda refs, timeout: (refs, []))
    scope = lift(os.path.join(at, "drkernel", "kernel", "rewards", "reward_client.py"),
                 ["_HybridHttpWorker", "KernelRewardClient"],
                 {"asyncio": asyncio, "time": time, "random": random, "uuid4": uuid.uuid4,
                  "httpx": httpx, "ray": ray, "TokenBucketWorker": Bucket,
                  "logger": logging.getLogger("kernelgym")})
    worker = scope["_HybridHttpWorker"](url, 8, 300, 30)
    client = scope["KernelRewardClient"].__new__(scope["KernelRewardClient"])
    client.reward_config = Space(reward_policy=Space(penalties={}))

    def ask(kernel, entry="Model"):
        task = {"task_id": f"peer_{uuid.uuid4().hex[:8]}", "reference_code": REFERENCE,
                "kernel_code": kernel, "entry_point": entry, "backend": "triton",
                "num_correct_trials": 1, "num_perf_trials": 8, "timeout": 200,
                "detect_decoy_kernel": True, "run_performance": False}
        return worker.submit_and_poll(task, 240, 3)

    broken = ask(NO_KERNEL)
    for kernel, status, compiled, reward in ((NO_KERNEL, "failed", None, -1.0),
                                             (OTHER, "completed", True, -0.3),
                                             (PLAIN, "completed", True, -0.1)):
        got = ask(kernel)
        same((got["status"], got.get("compiled")), (status, compiled), kernel)
        same(client.calculate_reward_like_kernel(got)["reward"], reward, kernel)
    return "submit_and_poll: failed -1, wrong -0.3, right and not timed -0.1"


# ---

failed = False
for name, check in (("slime", slime), ("verl", verl), ("OpenRLHF", openrlhf),
                    ("KernelGYM", kernelgym)):
    checkout = os.path.join(folder, name)
    if not os.path.isdir(checkout):
        print(f"{name}: no checkout in {folder}: not run")
        continue
    git = subprocess.run(["git", "-C", checkout, "log", "-1", "--format=%h of %cs"],
                         capture_output=True, text=True, check=False)
    try:
        print(f"{name} ({git.stdout.strip() or 'no commit'}): {check(checkout)}", flush=True)
    except Exception as error:  # noqa: BLE001: the others are still of interest
        failed = True
        print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
sys.exit(failed)
