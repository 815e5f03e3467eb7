"""clients/kgym.py as TRL's GRPOTrainer calls it: check_trl.py URL SITE-PACKAGES. The trainer's own
method runs, with stand-ins for the model and the processes around it. Run by
tests/unit/test_svc_peers.c."""

import asyncio
import functools
import inspect
import logging
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "clients")]
sys.dont_write_bytecode = True
import torch  # noqa: E402

import kgym  # noqa: E402
from lift import lift, nothing  # noqa: E402

url, site = sys.argv[1:]
trainer = os.path.join(site, "trl", "trainer")
scope = lift(os.path.join(trainer, "utils.py"), ["is_async_callable", "get_callable_name"],
             {"functools": functools, "inspect": inspect, "Callable": None})
scope.update(torch=torch, nn=torch.nn, asyncio=asyncio, gather=lambda tensor: tensor,
             profiling_context=nothing, logger=logging.getLogger("trl"))
lift(os.path.join(trainer, "grpo_trainer.py"), ["GRPOTrainer._calculate_rewards"], scope)

os.environ.update(KGYM_URL=url)
functions = [kgym.make_reward_func("ladder"), kgym.make_reward_func("dr-kernel")]
trainer = types.SimpleNamespace(
    accelerator=types.SimpleNamespace(device="cpu"), state=types.SimpleNamespace(global_step=3),
    reward_funcs=functions, reward_processing_classes=[None, None], environments=None,
    reward_func_names=[scope["get_callable_name"](f) for f in functions],
    _log_completion_extra=lambda *_: None, _log_metric=lambda *_: None)
assert trainer.reward_func_names == ["kgym_ladder", "kgym_dr_kernel"], trainer.reward_func_names


def rewards(rows, prompts, completions):
    return scope["_calculate_rewards"](trainer, rows, prompts, completions,
                                       [[1, 2]] * len(prompts)).tolist()


# Each row of a data set comes once for each of its generations.
rows = [{"prompt": "p", "problem": "silu", "level": 1}] * 3
got = rewards(rows, ["p"] * 3, ["nothing", "nothing", "more of it"])
assert [row[0] for row in got] == [-1.0] * 3, got
assert len({tuple(row) for row in got}) == 1, got
# A conversation's completion is a list of messages.
chat = [{"role": "user", "content": "p"}]
got = rewards([{"prompt": chat, "problem": "silu"}], [chat],
              [[{"role": "assistant", "content": "nothing"}]])
assert got[0][0] == -1.0, got
# What the gym can't do ends the step: it is no reward.
try:
    raise SystemExit(f"a reward for no problem: {rewards([{'problem': 'none'}], ['p'], ['x'])}")
except kgym.GymError:
    pass
print("OK")
