#!/usr/bin/env python3
"""Makes tests/goldens/rl/trl.json: what TRL makes of rewards and log-probs, for tests/unit/test_rl_trl.c.

The methods of GRPOTrainer and RLOOTrainer run as they are, on an object that has only what they read, so no model is
needed. All of it is f64; log-probs are rounded to f32 first, because the engine's are f32.

    advantages   GRPO with and without the standard deviation, RLOO
    importance   ratios of learner and sampler, cut off or masked, per token and per sequence
    losses       clipped losses: value, and gradient by the log-prob of each token

`make goldens` runs it. It needs torch and trl, which no test needs.
"""
import json
import os
from collections import defaultdict
from types import SimpleNamespace

import torch
import trl
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.rloo_trainer import RLOOTrainer

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rl")
LENGTHS = (3, 5, 1, 4)
MOST = 6  # max_completion_length
WIDE = max(LENGTHS)


def f32(x):
    return x.float().double()


def accelerator():
    same = lambda x, *a, **k: x
    return SimpleNamespace(device=torch.device("cpu"), gather=same, reduce=same, gather_for_metrics=same,
                           num_processes=1, process_index=0, is_main_process=True, sync_gradients=True)


def trainer(**changes):
    """What the two methods read of a trainer."""
    t = SimpleNamespace(
        accelerator=accelerator(), model=SimpleNamespace(training=True, is_gradient_checkpointing=False), environment_factories=None, environments=None,
        tools=None, _tokenizer=SimpleNamespace(pad_token_id=0), pad_to_multiple_of=None,
        mask_truncated_completions=False, beta=0., use_vllm=False, vllm_importance_sampling_correction=False,
        vllm_importance_sampling_mode="token_truncate", vllm_importance_sampling_clip_min=None,
        vllm_importance_sampling_clip_max=None, num_iterations=1, multi_objective_aggregation="sum_then_normalize",
        scale_rewards="group", reward_weights=torch.ones(1, dtype=torch.float64), reward_func_names=["reward"],
        reward_funcs=[None], reward_clip_range=None, normalize_advantages=False, log_multimodal=False,
        _metrics=defaultdict(lambda: defaultdict(list)), _logs=defaultdict(lambda: defaultdict(list)),
        _pending_extra_logs={}, _pending_metrics={}, aux_loss_enabled=False, top_entropy_quantile=1.,
        off_policy_mask_threshold=None, importance_sampling_level="token", loss_type="grpo", epsilon_low=.2,
        epsilon_high=.28, max_completion_length=MOST, current_gradient_accumulation_steps=1,
        _entropy_bonus_enabled=False,
        args=SimpleNamespace(per_device_train_batch_size=8, gradient_accumulation_steps=1, steps_per_generation=1,
                             gradient_checkpointing_kwargs=None, use_bias_correction_kl=False, delta=None))
    t._logs["prompt"] = []
    t._logs["completion"] = []
    t._logs["advantages"] = []
    for name, value in changes.items():
        setattr(t, name, value)
    return t


def advantages(cls, rewards, **changes):
    groups, n = rewards.shape
    t = trainer(num_generations=n, **changes)
    ids = [[5]] * (groups * n)
    t._calculate_rewards = lambda *a: rewards.reshape(-1, 1)
    texts = ["x"] * len(ids)
    t._generate = (lambda p: (ids, ids, texts)) if cls is RLOOTrainer else \
        (lambda p: (ids, ids, None, texts, None, {}, None, None))
    t._get_per_token_logps_and_entropies = lambda *a, **k: (torch.zeros(len(ids), 1, dtype=torch.float64), None, None)
    out = cls._generate_and_score_completions(t, [{"prompt": "p"}] * len(ids))
    return out["advantages"].reshape(groups, n)


def make_advantages():
    g = torch.Generator().manual_seed(7)
    cases = []
    for groups, n in ((3, 4), (2, 2), (2, 16)):
        rewards = (torch.randint(0, 6, (groups, n), generator=g) * .7).double()
        rewards[0, :] += torch.rand(n, generator=g).double()
        cases.append({
            "rewards": rewards.tolist(),
            "std": rewards.std(1).tolist(),
            "grpo": advantages(GRPOTrainer, rewards).tolist(),
            "grpo_unscaled": advantages(GRPOTrainer, rewards, scale_rewards="none").tolist(),
            "rloo": advantages(RLOOTrainer, rewards).tolist()})
    return cases


def padded(rows):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(r, dtype=torch.float64) for r in rows], batch_first=True)


def flat(x):
    return [v for row, n in zip(x.tolist(), LENGTHS) for v in row[:n]]


def importance(old, mu, mode, low, high):
    t = trainer(num_generations=len(LENGTHS), use_vllm=True, vllm_importance_sampling_correction=True,
                vllm_importance_sampling_mode=mode, vllm_importance_sampling_clip_min=low,
                vllm_importance_sampling_clip_max=high)
    ids = [[5] * n for n in LENGTHS]
    mu_rows = [row[:n] for row, n in zip(mu.tolist(), LENGTHS)]
    t._calculate_rewards = lambda *a: torch.zeros(len(LENGTHS), 1, dtype=torch.float64)
    t._generate = lambda p: (ids, ids, None, ["x"] * len(LENGTHS), mu_rows, {}, None, None)
    t._get_per_token_logps_and_entropies = lambda *a, **k: (old, None, None)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        out = GRPOTrainer._generate_and_score_completions(t, [{"prompt": "p"}] * len(LENGTHS))
    finally:
        torch.set_default_dtype(default)
    ratio = out["importance_sampling_ratio"].double()
    return flat(ratio.expand(len(LENGTHS), WIDE))


def make_importance(g):
    old = f32(-2 * torch.rand(len(LENGTHS), WIDE, generator=g))
    mu = f32(old + .6 * torch.randn(len(LENGTHS), WIDE, generator=g))
    return {"old": flat(old), "mu": flat(mu), "modes": [
        {"mode": mode, "low": low, "high": high, "ratio": importance(old, mu, mode, low, high)}
        for mode, low, high in (("token_truncate", None, 2.), ("sequence_truncate", None, 2.),
                                ("token_mask", .5, 2.), ("sequence_mask", .5, 2.))]}


LOSSES = [
    ("grpo", {}), ("bnpo", {}), ("dapo", {}), ("dr_grpo", {}), ("luspo", {}),
    ("grpo", {"importance_sampling_level": "sequence"}),
    ("dapo", {"delta": 3.}),
    ("grpo", {"beta": .04}),
    ("dapo", {"importance": True}),
    ("dr_grpo", {"delta": 3., "beta": .1, "importance": True}),
]


def loss(kind, options, x):
    t = trainer(loss_type=kind, importance_sampling_level=options.get("importance_sampling_level", "token"),
                beta=options.get("beta", 0.), use_vllm=options.get("importance", False),
                vllm_importance_sampling_correction=True)
    t.args.delta = options.get("delta")
    theta = x["theta"].clone().requires_grad_()
    t._get_per_token_logps_and_entropies = lambda *a, **k: (theta, torch.zeros_like(theta), None)
    mask = (torch.arange(WIDE)[None] < torch.tensor(LENGTHS)[:, None]).long()
    one = torch.ones(len(LENGTHS), 1, dtype=torch.long)
    value = GRPOTrainer._compute_loss(t, None, {
        "prompt_ids": one, "prompt_mask": one, "completion_ids": mask, "completion_mask": mask,
        "advantages": x["advantages"], "old_per_token_logps": x["old"], "ref_per_token_logps": x["ref"],
        "importance_sampling_ratio": x["weights"], "num_items_in_batch": mask.sum()})
    value.backward()
    return {"kind": kind, **options, "loss": value.item(), "gradient": flat(theta.grad)}


def make_losses(g):
    shape = (len(LENGTHS), WIDE)
    old = f32(-2 * torch.rand(shape, generator=g))
    x = {"old": old, "theta": f32(old + .7 * torch.randn(shape, generator=g)),
         "ref": f32(old + .4 * torch.randn(shape, generator=g)), "advantages": torch.tensor([1.5, -.75, -2., .5]).double(),
         "weights": f32(.2 + 1.8 * torch.rand(shape, generator=g))}
    x["theta"][1, 2] = f32(old[1, 2] + 1.5)  # beyond the dual bound, with a negative advantage
    return {"lengths": LENGTHS, "most": MOST, "advantages": x["advantages"].tolist(),
            **{k: flat(x[k]) for k in ("theta", "old", "ref", "weights")},
            "cases": [loss(kind, options, x) for kind, options in LOSSES]}


def main():
    g = torch.Generator().manual_seed(11)
    out = {"trl": trl.__version__, "advantages": make_advantages(), "importance": make_importance(g),
           "losses": make_losses(g)}
    os.makedirs(here, exist_ok=True)
    with open(os.path.join(here, "trl.json"), "w", encoding="utf-8") as f:
        json.dump(out, f, indent=None, separators=(",", ":"))
        f.write("\n")


main()
