"""A smaller shape of the same problem: one of its constants is set to a smaller value. Where inputs
take gigabytes, draws of a smaller shape show as well where they may be made (draws.py). Whether
they are so large shows in a draw that is stopped, or in its sizes."""

import math
import time

import torch
from torch.overrides import TorchFunctionMode

from . import draws, module, values

TARGET = 1 << 22  # elements of all inputs
ROOTS = (1, 2, 3)  # inputs are matrices of this size, or blocks: their elements shrink faster
LEAST = 2  # value of a constant
MOST = 8  # constants that are tried, the largest first
SECONDS = 3  # of looking for one: a file may take long to execute


SIZED = {torch.empty, torch.ones, torch.rand, torch.randn, torch.zeros}  # a size and no more
MAKES = SIZED | {torch.arange, torch.eye, torch.full, torch.linspace, torch.normal, torch.randint,
                 torch.randperm}


class _Much(BaseException):  # a problem may catch an Exception, and go on otherwise
    """A draw makes more elements than it may."""


class _Counting(TorchFunctionMode):
    """Stops whoever makes more than so many elements: of PyTorch's random and constant tensors all
    together, mostly before they are made; of all other results, each of them."""

    def __init__(self, most):
        super().__init__()
        self.most, self.left = most, most

    def _take(self, n):
        self.left -= n
        if self.left < 0:
            raise _Much()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        asked = _asked(func, args, kwargs)
        self._take(asked)
        made = func(*args, **kwargs)
        if func in MAKES:
            self._take(max(0, made.numel() - asked))
        elif isinstance(made, torch.Tensor) and made.numel() > self.most:
            self._take(made.numel())
        return made


def _asked(func, args, kwargs):
    """How many elements a function is asked for, where its arguments say that; else 0."""
    if func not in MAKES:
        return 0
    for size in (kwargs.get("size"), *args):
        if isinstance(size, (tuple, list)):
            return math.prod(size)
    sizes = [n for n in args if isinstance(n, int)]
    if func is torch.eye:
        return sizes[0] * sizes[-1] if sizes else 0
    return math.prod(sizes) if sizes and func in SIZED else 0


def drawn(subject, seed, most):
    """subject.draw(seed); None where this makes more than so many elements, and the subject is as
    before. To ask for sizes alone costs more than a small draw: PyTorch imports seconds of Python
    for it."""
    try:
        with _Counting(most):
            return subject.draw(seed)
    except _Much:  # maybe of the draw, where the problem has caught an earlier one
        subject.template = subject.forms = subject.strides = None
        return None


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
