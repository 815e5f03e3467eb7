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


def _leading(value):
    """The first tensor of floats with a dimension to cut along."""
    found = []
    each(found.append, value)
    return next((t for t in found if t.is_floating_point() and t.dim() > 0), None)


def _cut(value, length, begin, end, only):
    """The value with all tensors of this length cut along their first dimension, or one alone."""
    def part(t):
        cut = t is only if only is not None else t.dim() > 0 and t.shape[0] == length
        return wide(t[begin:end] if cut else t)
    return each(part, value)


def _join(whole, part, begin, end, length):
    """Writes the part into the whole answer, which is made at the first part."""
    if isinstance(part, torch.Tensor):
        if part.dim() == 0 or part.shape[0] != end - begin:
            raise ValueError("an answer that is not as long as its inputs")
        if whole is None:
            whole = torch.empty((length,) + tuple(part.shape[1:]), dtype=part.dtype,
                                device=part.device)
        whole[begin:end] = part
        return whole
    keys = range(len(part)) if type(part) in (list, tuple) else part
    whole = whole if whole is not None else {k: None for k in keys}
    for k in keys:
        whole[k] = _join(whole[k], part[k], begin, end, length)
    return whole


def _in_form(whole, part):
    """The joined answer as the module gives it: lists and tuples again."""
    if isinstance(part, torch.Tensor):
        return whole
    if type(part) in (list, tuple):
        return type(part)(_in_form(whole[k], p) for k, p in enumerate(part))
    return {k: _in_form(whole[k], p) for k, p in part.items()}


def in_slices(module, inputs, n):
    """The module's answer in double, asked slice by slice along the first dimension, so that
    only a slice of its inputs is there in double. Whether slices have nothing to do with each
    other shows when the answer is compared with that of the whole in float. Inputs that are as
    long as the first one are all cut, or else that one alone."""
    first = _leading(list(inputs))
    if first is None:
        raise ValueError("no input to cut")
    length, error = first.shape[0], None
    for only in (None, first):
        try:
            whole, step = None, -(-length // n)
            for begin in range(0, length, step):
                end = min(begin + step, length)
                part = module(*_cut(list(inputs), length, begin, end, only))
                whole = _join(whole, part, begin, end, length)
            return _in_form(whole, part)
        except (RuntimeError, ValueError, IndexError) as failed:
            error = failed
    raise RuntimeError("the reference cannot be asked in slices (%s)" % error)


class Mover:
    """Moves each element of floating tensors up or down by a rounding error."""

    PIECE = 1 << 26  # elements that are moved at once: a copy of a large tensor takes enough

    def __init__(self):
        self.signs = {}  # own generators, so that the module's draws stay the same

    def __call__(self, t, eps):
        if t.device not in self.signs:
            self.signs[t.device] = torch.Generator(device=t.device).manual_seed(1)
        if t.numel() > self.PIECE:
            return self._in_pieces(t, eps)
        up = torch.rand(t.shape, generator=self.signs[t.device], device=t.device) < 0.5
        t, kind = t.to(torch.float64 if t.dtype == torch.float64 else torch.float32), t.dtype
        return torch.where(up, t * (1 + eps), t * (1 - eps)).to(kind)

    def _in_pieces(self, t, eps):
        moved = torch.empty_like(t, memory_format=torch.contiguous_format)
        for to, part in zip(moved.view(-1).split(self.PIECE), t.reshape(-1).split(self.PIECE)):
            to.copy_(self(part, eps))
        return moved

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
