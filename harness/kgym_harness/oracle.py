"""The reference as its own oracle: in double precision, or, where that does not run, in float with
what rounding does to it; and with the arithmetic that a league allows at worst. Nothing of a
candidate comes here."""

import contextlib

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Products, and which of their arguments a tensor core reads. Whatever else there is comes down to
# these, attention where its fused forms are off.
OPERANDS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "mv": (0, 1),
            "addmv": (1, 2), "dot": (0, 1), "linear": (0, 1), "matmul": (0, 1),
            "convolution": (0, 1), "_trilinear": (0, 1, 2), "_cudnn_rnn": (0, 1, 4),
            "mkldnn_rnn_layer": (0, 1, 2, 5)}
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


class Cutting(TorchDispatchMode):
    """Operands of products lose their last bits, as hardware that does not look at them reads
    them. by: other bits are lost of operands that are multiplied meanwhile. nearest: they are
    rounded, as kernels do that convert them."""

    def __init__(self, lost, by, nearest):
        super().__init__()
        self.mask, self.by, self.half = -(1 << lost), by, (1 << lost) // 2 if nearest else 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        at = OPERANDS.get(func.overloadpacket.__name__, ())
        args = [each(self._cut, list(a) if isinstance(a, tuple) else a) if i in at else a
                for i, a in enumerate(args)]
        return func(*args, **(kwargs or {}))

    def _cut(self, t):
        if t.dtype is not torch.float32:
            return t
        cut = (((t * self.by).view(torch.int32) + self.half) & self.mask).view(t.dtype)
        return cut / self.by


@contextlib.contextmanager
def tf32(bits, by, nearest):
    """Each product as the least exact kernel computes it that looks at so many bits of its
    operands' significands, 11 in that league, or as one that rounds them to so many."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel(SDPBackend.MATH), Cutting(24 - bits, by, nearest):
        yield
