"""The reference as its own oracle: in double precision, or, where that does not run, in float with
what rounding does to it. Nothing of a candidate comes here."""

import contextlib

import torch
from torch.overrides import TorchFunctionMode

ROUNDED = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def each(change, value):
    """The same with changed tensors, in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(each(change, v) for v in value)
    return {k: each(change, v) for k, v in value.items()} if type(value) is dict else value


def wide(value):
    return each(lambda t: t.double() if t.is_floating_point() else t, value)


class Mover:
    """Moves each element of floating tensors up or down by a rounding error."""

    def __init__(self):
        self.signs = {}  # generators of its own: the module's draws stay the same

    def __call__(self, t, eps):
        if t.device not in self.signs:
            self.signs[t.device] = torch.Generator(device=t.device).manual_seed(1)
        up = torch.rand(t.shape, generator=self.signs[t.device], device=t.device) < 0.5
        t, kind = t.to(torch.float64 if t.dtype == torch.float64 else torch.float32), t.dtype
        return torch.where(up, t * (1 + eps), t * (1 - eps)).to(kind)

    def input(self, t):
        """By one of float32."""
        kind = torch.float64 if t.dtype == torch.float64 else torch.float32
        return self(t, torch.finfo(kind).eps) if t.is_floating_point() else t


class Rounding(TorchFunctionMode):
    """Every operation on floating tensors gives a result that is off by a rounding error. Views
    stay as they are, and so does what is written in place."""

    def __init__(self, move):
        super().__init__()
        self.move = move

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        given = []
        each(given.append, [list(args), dict(kwargs or {})])
        if not any(t.is_floating_point() for t in given):
            return made
        known = {t.untyped_storage().data_ptr() for t in given if t.layout == torch.strided}
        return each(lambda t: self._moved(t, known), made)

    def _moved(self, t, known):
        if t.layout != torch.strided or t.dtype not in ROUNDED or \
                t.untyped_storage().data_ptr() in known:
            return t
        return self.move(t, torch.finfo(t.dtype).eps)


class Widening(TorchFunctionMode):
    """An operation that does not take its operands is given them in double: tables and constants
    that are no part of the module's state stay in float when that is widened."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        try:
            return func(*args, **(kwargs or {}))
        except RuntimeError:
            return func(*wide(tuple(args)), **wide(dict(kwargs or {})))


def widen(module):
    """Parameters and buffers, and tensors that are mere attributes."""
    module.double()
    for part in module.modules():
        for name, value in list(vars(part).items()):
            if name not in ("_parameters", "_buffers", "_modules"):
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    part.__dict__[name] = value.double()
    return module


@contextlib.contextmanager
def double_by_default():
    kept = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(kept)
