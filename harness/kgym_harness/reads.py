"""Finds how much of its inputs the answer of a reference needs. An answer that is the last row of a
norm needs one row of its input, and a kernel that reads no more is faster than one that reads all.

Single elements of the inputs are changed, drawn in proportion to their bytes. Those that change the
answer are needed. The reference answers in double where it can, so that no sum is too long to show
one of its terms."""

import random
import time

import torch

from . import describe, layout, tensors
from .module import seed_all

LEFT_OUT = {"equal", "shared", "repeated"}  # what one input holds may be read in another
MIRRORED = {"symmetric", "definite"}


def _end(end, eps, way):
    """Just beyond the least or greatest value. An end that is a whole number may be that of the
    range that the reference accepts."""
    return end if end == round(end) else end + way * abs(end) * eps


def _values(t, at):
    """New values for one element. The last two show where only the greatest or the least value of
    some matters."""
    flat = layout.memory(t) if layout.reach(t) == t.numel() else t.reshape(-1)
    yield describe.other(flat, at)
    low, high = (float(v) for v in torch.aminmax(flat))
    eps = torch.finfo(t.dtype).eps
    for end, way in ((high, 1), (low, -1)):
        value = _end(end, eps, way)
        if abs(value) < float("inf") and value != float(flat[at]):
            yield value


def _spared(t, at, kinds):
    """Does the structure of this input tell the element, so that no kernel needs to read it?"""
    if LEFT_OUT & kinds:
        return True
    if layout.reach(t) != t.numel():
        return False
    if "zeros" in kinds and float(layout.memory(t)[at]) == 0:
        return True
    step = t.stride()
    return bool(MIRRORED & kinds) and at // max(step[-2:]) % t.shape[-1] > \
        at // min(step[-2:]) % t.shape[-1]


class Asking:
    """Answers of the reference to inputs of its own, in double or as it is."""

    def __init__(self, subject, drawn, seed, wide):
        self.subject, self.drawn, self.seed, self.wide = subject, drawn, seed, wide
        self.kept = [(path, t.clone()) for path, t in subject.state()]
        self.one = [(path, t.clone()) for path, t in self.answers(drawn)]

    def answers(self, drawn):
        self.subject.bind([t for _, t in drawn])
        seed_all(self.seed, self.subject.device)
        named = tensors.flatten(self.subject.call(self.wide, 0, self.seed))[1]
        if not self.wide:  # else it was a copy of the module
            for (_, t), (_, was) in zip(self.subject.state(), self.kept):
                t.copy_(was)
        return named

    def shows(self, i, at):
        """Does one of the new values of this element change the answer?"""
        for value in _values(self.drawn[i][1], at):
            with describe.edited(self.drawn, i, at, value) as changed:
                if not describe.all_same(self.one, self.answers(changed)):
                    return True
        return False


def _asking(subject, drawn, seed):
    """None: its answers do not repeat themselves, so they show nothing."""
    may = not (subject.single or subject.slices > 1 or subject.compat)
    for wide in (True, False) if may else (False,):
        try:
            asking = Asking(subject, drawn, seed, wide)
        except Exception:  # an operation that double precision lacks, or no memory
            continue
        return asking if describe.all_same(asking.one, asking.answers(drawn)) else None
    return None


def needed(subject, n, seed, seconds, structure):
    """{"asked", "needed"}: of so many random elements, fewer where the time runs out, those that
    the answer needs. structure: {number of an input: kinds of structure}. None: unknown."""
    until, bound, rng = time.monotonic() + seconds, subject.bound, random.Random(seed)
    try:
        raw = subject.draw(seed)
        drawn = [(path, t if t is not was else layout.copy(t))
                 for (path, t), (_, was) in zip(subject.move(raw), raw)]
        del raw
        asking = _asking(subject, drawn, seed)
        at = [i for i, (_, t) in enumerate(drawn) if t.is_floating_point() and t.numel() > 0]
        if asking is None or not at:
            return None
        weights = [layout.reach(drawn[i][1]) * drawn[i][1].element_size() for i in at]
        asked = found = 0
        while asked < n and time.monotonic() < until:
            i = rng.choices(at, weights)[0]
            place = rng.randrange(drawn[i][1].numel())
            kinds = set(structure.get(i, ()))
            found += not _spared(drawn[i][1], place, kinds) and asking.shows(i, place)
            asked += 1
        return {"asked": asked, "needed": found}
    except Exception:  # it rejects other values, or there is no memory for them
        return None
    finally:
        if bound:
            subject.bind(bound)
