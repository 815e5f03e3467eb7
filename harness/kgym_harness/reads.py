"""Finds how much of its inputs the answer of a reference needs. An answer that is the last row of a
norm needs one row of its input, and a kernel that reads no more is faster than one that reads all.

Single elements of the inputs are changed, drawn in proportion to their bytes. Those that change the
answer are needed. The reference answers in double, so that no sum is too long to show one of its
terms. Where it cannot, nothing is known: in float a needed element may not show."""

import random
import time

import torch

from . import describe, layout, tensors
from .module import seed_all

TWINS = {"equal", "shared"}  # what one of these inputs holds may be read in another
MIRRORED = {"symmetric", "definite"}


def _end(end, eps, way):
    """Just beyond the least or greatest value. An end that is a whole number may be that of the
    range that the reference accepts."""
    return end if end == round(end) else end + way * abs(end) * eps


def _values(t, at):
    """New values for one element. The last two show where only the greatest or the least value of
    some matters."""
    flat = layout.memory(t) if layout.reach(t) == t.numel() else t.reshape(-1)
    was = float(flat[at])
    yield describe.other(flat, at)
    low, high = (float(v) for v in torch.aminmax(flat))
    if not abs(low) + abs(high) < float("inf"):
        flat = flat[torch.isfinite(flat)]
        if flat.numel() == 0:
            return
        low, high = (float(v) for v in torch.aminmax(flat))
    eps = torch.finfo(t.dtype).eps
    for end, way in ((high, 1), (low, -1)):
        value = _end(end, eps, way)
        if abs(value) < float("inf") and value != was:
            yield value


def _spared(t, at, kinds):
    """Does the structure of this input tell the element, so that no kernel needs to read it?"""
    if "repeated" in kinds:
        return True
    if layout.reach(t) != t.numel():
        return False
    if "zeros" in kinds:  # of every draw; infinities at fixed places are a kind of it
        value = float(layout.memory(t)[at])
        if value == 0 or not abs(value) < float("inf"):
            return True
    step = t.stride()
    return bool(MIRRORED & kinds) and at // max(step[-2:]) % t.shape[-1] > \
        at // min(step[-2:]) % t.shape[-1]


class Asking:
    """Answers of the reference to inputs of its own, in double: of a copy of the module."""

    def __init__(self, subject, drawn, seed):
        self.subject, self.drawn, self.seed = subject, drawn, seed
        self.one = [(path, t.clone()) for path, t in self.answers(drawn)]

    def answers(self, drawn):
        self.subject.bind([t for _, t in drawn])
        seed_all(self.seed, self.subject.device)
        return tensors.flatten(self.subject.call(True, 0, self.seed))[1]

    def shows(self, i, at):
        """Does one of the new values of this element change the answer?"""
        for value in _values(self.drawn[i][1], at):
            with describe.edited(self.drawn, i, at, value) as changed:
                if not describe.all_same(self.one, self.answers(changed)):
                    return True
        return False


def _asking(subject, drawn, seed):
    """None: it is not asked in double, or its answers do not repeat themselves, so that they show
    nothing."""
    if subject.single or subject.slices > 1 or subject.compat:
        return None
    asking = Asking(subject, drawn, seed)
    return asking if describe.all_same(asking.one, asking.answers(drawn)) else None


def needed(subject, n, seed, seconds, structure):
    """{"asked", "needed"}: of so many random elements, fewer where the time runs out, those that
    the answer needs. structure: {number of an input: kinds of structure}. None: unknown.
    {"again": True}: the device lacked memory, which another time it may not."""
    bound, rng = subject.bound, random.Random(seed)
    try:
        raw = subject.draw(seed)
        drawn = [(path, t if t is not was else layout.copy(t))
                 for (path, t), (_, was) in zip(subject.move(raw), raw)]
        del raw
        asking = _asking(subject, drawn, seed)
        at = [i for i, (_, t) in enumerate(drawn) if t.is_floating_point() and t.numel() > 0]
        if asking is None or not at:
            return None
        twins = [i for i in at if TWINS & set(structure.get(i, ()))][1:]  # one is read
        weights = [layout.reach(drawn[i][1]) * drawn[i][1].element_size() for i in at]
        until, asked, found = time.monotonic() + seconds, 0, 0
        while asked < n and time.monotonic() < until:
            i = rng.choices(at, weights)[0]
            place = rng.randrange(drawn[i][1].numel())
            spared = i in twins or _spared(drawn[i][1], place, set(structure.get(i, ())))
            found += not spared and asking.shows(i, place)
            asked += 1
        return {"asked": asked, "needed": found}
    except torch.cuda.OutOfMemoryError:
        return {"again": True}
    except Exception:  # it rejects other values, or has no double
        return None
    finally:
        if bound:
            subject.bind(bound)
