"""A smaller shape of the same problem: one of its constants is set to a smaller value. Where inputs
take gigabytes, draws of a smaller shape show as well where they may be made (draws.py)."""

import time

import torch

from . import draws, module, values

TARGET = 1 << 22  # elements of all inputs
ROOTS = (1, 2, 3)  # inputs are matrices of this size, or blocks: their elements shrink faster
LEAST = 2  # value of a constant
MOST = 8  # constants that are tried, the largest first
SECONDS = 3  # of looking for one: a file may take long to execute


def _again(subject, consts):
    """The same source once more: what it keeps of its draws is its own."""
    made = module.Subject(subject.source.path, subject.entry, subject.role, subject.device)
    made.row = subject.row
    made.source.name += "_smaller"
    made.execute(consts)
    return made


def size(subject, consts, seed):
    """(elements, bytes) of all inputs, by a draw without values; None: it can't do without."""
    named = []
    try:
        made = _again(subject, consts)
        module.seed_all(seed, subject.device)
        with torch.device("meta"):
            values.take_apart(list(made.in_order(made.source.entry("get_inputs")())), "", named)
    except Exception:  # it looks at its values, or wants another size
        return None
    if any(t.device.type != "meta" for _, t in named):
        return None
    return (sum(t.numel() for _, t in named), sum(t.numel() * t.element_size() for _, t in named))


def shape(subject, consts, seed, whole):
    """The problem at a smaller shape, not yet drawn from; None: there is none. whole: elements at
    the shape of consts."""
    until = time.monotonic() + SECONDS
    known = dict(subject.source.constants(), **(consts or {}))
    names = sorted((n for n in known if known[n] > LEAST), key=lambda n: -known[n])[:MOST]
    for root in ROOTS:
        for name in names:
            if time.monotonic() > until:
                return None
            value = max(LEAST, int(known[name] * (TARGET / whole) ** (1 / root)))
            given = dict(consts or {}, **{name: value})
            found = size(subject, given, seed)
            if found and draws.WORTH <= found[0] <= 4 * TARGET:
                return _again(subject, given)
    return None
