"""Describes the task of a reference as facts: constructor arguments, inputs, state and answers."""

import math
import random

import torch

from . import influence, structure, tensors, values
from .module import seed_all

SAMPLE = 1 << 20  # most elements for mean and deviation
DISTINCT = 1 << 16
DRAWS = 4  # that structure is looked for in
LARGE = 1 << 26  # elements of all inputs: then two
PAGE = 64  # tensors of the state in one reply
EDITED = 2  # how many of the largest inputs are edited, to see what depends on an element
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


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


def _inputs(subject, seed, one):
    """Facts of each input, which was drawn once. `fixed`: it is the same for every seed."""
    first = [(path, t.clone()) for path, t in subject.move(one)]
    more = DRAWS if sum(t.numel() for _, t in first) < LARGE else 2
    draws = [first] + [[(path, t.clone()) for path, t in subject.move(subject.draw(seed + k))]
                       for k in range(1, more)]
    same = [[(one[i][1].shape, one[i][1].dtype) == (t.shape, t.dtype) for one in draws]
            for i, (_, t) in enumerate(first)]
    kinds = structure.find([[one[i][1] for one in draws] if all(same[i]) else [t]
                            for i, (_, t) in enumerate(first)])
    found = []
    for i, (path, a) in enumerate(first):
        facts = facts_of(a)
        facts["name"], facts["fixed"] = path, _same(a, draws[1][i][1])
        facts["structure"] = kinds[i]
        found.append(facts)
    return first, found


def _state(subject):
    buffers = subject.buffers()
    found = []
    for name, t in subject.state():
        facts = facts_of(t)
        facts = {k: facts.get(k)
                 for k in ("dtype", "shape", "mean", "sd", "min", "max", "distinct")}
        facts["name"], facts["buffer"] = name, name in buffers
        found.append(facts)
    return found


def _snapshot(subject):
    return [(n, t.clone()) for n, t in subject.state()]


def _restore(subject, kept):
    for (_, t), (_, was) in zip(subject.state(), kept):
        t.copy_(was)


def _answers(subject, drawn, seed, bound=None):
    subject.bind([t.clone() for _, t in drawn])
    seed_all(seed, subject.device)
    if bound is not None:
        bound()
    structure, named = tensors.flatten(subject.call(False))
    return structure, [(path, t.clone()) for path, t in named]


def _allocated(subject, before=None):
    """Bytes that PyTorch has allocated on a GPU; or most that it has since, beyond those."""
    if subject.device.type != "cuda":
        return 0
    if before is None:
        torch.cuda.reset_peak_memory_stats(subject.device)
        return torch.cuda.memory_allocated(subject.device)
    return torch.cuda.max_memory_allocated(subject.device) - before


def _repeats(subject, drawn, seed, one, kept):
    _, again = _answers(subject, drawn, seed)
    _restore(subject, kept)
    return _all_same(one, again)


def _edited(t, at):
    """A copy with a new value at one place. The value is another element's, so the tensor keeps
    its character; of a few, the one furthest from the old value."""
    copy = t.clone(memory_format=torch.contiguous_format)
    flat = copy.view(-1)
    old = float(flat[at])
    part = _sample(t, 64).double()
    part = part[torch.isfinite(part)]
    far = (part - old).abs().nan_to_num(nan=1.0)
    best = int(far.argmax()) if far.numel() > 0 else 0
    flat[at] = float(part[best]) if far.numel() > 0 and far[best] > 0 else 2 * old + 1
    return copy


def _unlike(a, b):
    """Number of elements of two floating tensors that differ in any bit; a NaN may equal
    another."""
    bits = BITS[a.element_size()]
    return int((a.contiguous().view(bits) != b.contiguous().view(bits)).sum())


def _floating(named):
    return [(i, t) for i, (_, t) in enumerate(named) if t.is_floating_point() and t.numel() > 0]


def _terms(subject, drawn, seed, one, kept):
    """How many elements of an input one element of the answer depends on; None: unknown.

    It is measured in the other direction. Changing one element of the input changes some
    elements of the answer; scaled by n_in / n_out this gives the number. The largest of two
    inputs counts, with two elements each: the first one, where a scan begins, and a random one."""
    answers, most = _floating(one), None
    whole = sum(t.numel() for _, t in answers)
    for i, t in sorted(_floating(drawn), key=lambda part: -part[1].numel())[:EDITED]:
        for at in {0, random.Random(seed).randrange(t.numel())}:
            changed = list(drawn)
            changed[i] = (drawn[i][0], _edited(t, at))
            _, named = _answers(subject, changed, seed)
            _restore(subject, kept)
            if [(n.shape, n.dtype) for _, n in named] != [(n.shape, n.dtype) for _, n in one]:
                return None
            differ = sum(_unlike(was, named[k][1]) for k, was in answers)
            if whole > 0:
                most = max(most or 1, -(-differ * t.numel() // whole))
    return most


def _written(subject, drawn, seed, found):
    """Marks the inputs that a call writes to, with the values that they have or with others."""
    versions = []

    def noted():
        versions[:] = [t._version for t in subject.bound]
    _answers(subject, drawn, seed, noted)
    for facts, (_, was), t, version in zip(found["inputs"], drawn, subject.bound, versions):
        facts["written"] = t._version != version or not _same(was, t)
    found["writes_inputs"] = [f["name"] for f in found["inputs"] if f["written"]]


def _spare(subject, drawn, seed, found, kept, changed):
    """Marks what a candidate need not have (influence.py). It comes last, because it may build
    the module again."""
    state = subject.state()
    if not state:
        return
    need, tied = [influence.NEEDED] * len(state), influence.ties(state)
    if found["deterministic"]:
        try:
            left = influence.idle(subject, lambda: _answers(subject, drawn, seed)[1],
                                  lambda: _restore(subject, kept), _all_same)
        except Exception:  # an operation that cannot be followed
            left = set()
            _restore(subject, kept)
        for i in left:
            need[i] = influence.IDLE
    for i in influence.constants(subject, seed, changed):
        need[i] = influence.CONSTANT if need[i] == influence.NEEDED else need[i]
    for i, first in tied.items():
        found["state"][i]["tied"] = first
        need[i] = influence.TIED if need[i] == influence.NEEDED else need[i]
    for facts, what in zip(found["state"], need):
        facts["need"] = what


def page(found, begin):
    """The description with a part of the state's list; state_count is its whole length. A reply
    holds no more."""
    if "wants" in found:
        return found
    part = found["state"][begin:begin + PAGE]
    if begin:
        return {"state": part}
    return dict(found, state=part, state_count=len(found["state"]))


def describe(subject, request, seed):
    """Builds the module under seed, and calls it three times unless request says run: false.
    Where calls repeat themselves, it makes four more at most."""
    if subject.compat:  # a candidate's arguments are drawn under the same seed
        seed_all(seed, subject.device)
    args, kwargs = subject.own_init()
    subject.build(None, None, seed)
    one, subject.first_draw = subject.first_draw or subject.draw(seed), None
    wants = sum(t.numel() * t.element_size() for _, t in one)
    if wants > request.get("room", wants):
        subject.first_draw = one
        return {"wants": wants}
    drawn, inputs = _inputs(subject, seed, one)
    del one
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
        before = _allocated(subject)
        structure, one = _answers(subject, drawn, seed)
        found["call_bytes"] = _allocated(subject, before)
        changed = {i for i, ((_, was), (_, t)) in enumerate(zip(kept, subject.state()))
                   if not _same(was, t)}
        found["updates_state"] = bool(changed) or len(kept) != len(subject.state())
        _restore(subject, kept)
        found["outputs"] = [dict(facts_of(t), name=path) for path, t in one]
        found["structure"] = structure
        found["deterministic"] = _repeats(subject, drawn, seed, one, kept)
        found["random"] = not _repeats(subject, drawn, seed + 1, one, kept)
        _written(subject, drawn, seed, found)
        _restore(subject, kept)
        if found["deterministic"]:
            try:
                found["terms"] = _terms(subject, drawn, seed, one, kept)
            except Exception:  # it rejects other values, or there is no memory for them
                _restore(subject, kept)
        _spare(subject, drawn, seed, found, kept, changed)
    return found
