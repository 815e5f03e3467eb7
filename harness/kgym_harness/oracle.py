"""The reference as its own oracle: in double precision. Where that does not run, it runs in
float, with every result moved by a rounding error. It can also run with the least exact
arithmetic that a league allows. No code of a candidate comes here."""

import contextlib

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Products, and the arguments that a tensor core reads. All other operators call these; attention
# does so where its fused forms are off.
OPERANDS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "mv": (0, 1),
            "addmv": (1, 2), "dot": (0, 1), "linear": (0, 1), "matmul": (0, 1),
            "convolution": (0, 1), "_trilinear": (0, 1, 2), "_cudnn_rnn": (0, 1, 4),
            "mkldnn_rnn_layer": (0, 1, 2, 5)}
ROUNDED = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def each(change, value):
    """The same value with every tensor changed, in lists, tuples and dicts."""
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
        self.signs = {}  # own generators, so that the module's draws stay the same

    def __call__(self, t, eps):
        if t.device not in self.signs:
            self.signs[t.device] = torch.Generator(device=t.device).manual_seed(1)
        up = torch.rand(t.shape, generator=self.signs[t.device], device=t.device) < 0.5
        t, kind = t.to(torch.float64 if t.dtype == torch.float64 else torch.float32), t.dtype
        return torch.where(up, t * (1 + eps), t * (1 - eps)).to(kind)

    def input(self, t):
        """Moves by a rounding error of float32."""
        kind = torch.float64 if t.dtype == torch.float64 else torch.float32
        return self(t, torch.finfo(kind).eps) if t.is_floating_point() else t


class Rounding(TorchFunctionMode):
    """Moves the result of every operation on floating tensors by a rounding error. Views, and
    results that are written in place, stay as they are."""

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
    """Repeats an operation that rejects its operands with all of them in double. Tables and
    constants outside the module's state stay in float when the module is widened, so types
    could differ."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        try:
            return func(*args, **(kwargs or {}))
        except RuntimeError:
            return func(*wide(tuple(args)), **wide(dict(kwargs or {})))


def widen(module):
    """Widens parameters, buffers, and tensors that are plain attributes."""
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
    """Cuts the last bits of operands of products, as hardware does that does not read them. by:
    operands are multiplied by it meanwhile, so that other bits are lost. nearest: rounds
    instead, as kernels do that convert operands."""

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
    """Computes each product like the least exact kernel that reads so many bits of its
    operands' significands, 11 in this league. nearest: like a kernel that rounds them to so
    many."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel(SDPBackend.MATH), Cutting(24 - bits, by, nearest):
        yield
