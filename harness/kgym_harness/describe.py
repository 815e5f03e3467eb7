"""What a reference's task is, as facts: what it is built with, its inputs, state and answers."""

import math

import torch

from . import tensors, values
from .module import seed_all

SAMPLE = 1 << 20  # elements that mean and deviation are taken of
DISTINCT = 1 << 16


def _number(x):
    x = float(x)
    return x if math.isfinite(x) else None


def _sample(t, most):
    flat = t.detach().reshape(-1)
    step = max(1, flat.numel() // most)
    return flat[::step]


def facts_of(t):
    facts = {"dtype": str(t.dtype).split(".")[-1], "shape": list(t.shape),
             "integer": not t.is_floating_point(), "contiguous": t.is_contiguous()}
    if t.numel() == 0 or t.is_complex():
        return facts
    part = _sample(t, SAMPLE).double()
    finite = part[torch.isfinite(part)]
    low, high = (t.min(), t.max()) if t.dtype is not torch.bool else (t.all(), t.any())
    facts["min"], facts["max"] = _number(low), _number(high)
    facts["finite"] = bool(torch.isfinite(t).all())
    if finite.numel() > 0:
        facts["mean"] = _number(finite.mean())
        facts["sd"] = _number(finite.std(unbiased=False))
        facts["whole"] = bool((finite == finite.round()).all())
    facts["distinct"] = int(torch.unique(_sample(t, DISTINCT)).numel())
    return facts


def _same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and \
        bool(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))


def _all_same(a, b):
    return len(a) == len(b) and all(_same(x, y) for (_, x), (_, y) in zip(a, b))


def _inputs(subject, seed):
    """Facts of each input; `fixed`: it is the same whatever the seed."""
    one = subject.move(subject.draw(seed))
    first = [(path, t.clone()) for path, t in one]
    two = subject.move(subject.draw(seed + 1))
    found = []
    for (path, a), (_, b) in zip(first, two):
        facts = facts_of(a)
        facts["name"], facts["fixed"] = path, _same(a, b)
        found.append(facts)
    return first, found


def _state(subject):
    buffers = subject.buffers()
    found = []
    for name, t in subject.state():
        facts = facts_of(t)
        facts = {k: facts.get(k) for k in ("dtype", "shape", "mean", "sd", "min", "max", "distinct")}
        facts["name"], facts["buffer"] = name, name in buffers
        found.append(facts)
    return found


def _snapshot(subject):
    return [(n, t.clone()) for n, t in subject.state()]


def _restore(subject, kept):
    for (_, t), (_, was) in zip(subject.state(), kept):
        t.copy_(was)


def _answers(subject, drawn, seed):
    subject.bind([t.clone() for _, t in drawn])
    seed_all(seed, subject.device)
    structure, named = tensors.flatten(subject.call(False))
    return structure, [(path, t.clone()) for path, t in named]


def describe(subject, request, seed):
    """Builds the module under seed and calls it three times unless request says run: false."""
    if subject.compat:  # what a candidate is built with is drawn as the reference's own is
        seed_all(seed, subject.device)
    args, kwargs = subject.own_init()
    subject.build(None, None, seed)
    drawn, inputs = _inputs(subject, seed)
    found = {
        "init": {"args": [values.encode(a) for a in args],
                 "kwargs": {k: values.encode(v) for k, v in kwargs.items()}},
        "inputs": inputs,
        "template": subject.template,
        "state": _state(subject),
        "constants": subject.source.constants(),
        "training": bool(getattr(subject.module, "training", False)),
    }
    if request.get("run", True):
        kept = _snapshot(subject)
        structure, one = _answers(subject, drawn, seed)
        found["updates_state"] = not _all_same(kept, subject.state())
        _restore(subject, kept)
        _, again = _answers(subject, drawn, seed)
        _restore(subject, kept)
        _, other = _answers(subject, drawn, seed + 1)
        _restore(subject, kept)
        found["outputs"] = [dict(facts_of(t), name=path) for path, t in one]
        found["structure"] = structure
        found["deterministic"] = _all_same(one, again)
        found["random"] = not _all_same(one, other)
        changed = [path for (path, was), t in zip(drawn, subject.bound) if not _same(was, t)]
        found["writes_inputs"] = changed
    return found
