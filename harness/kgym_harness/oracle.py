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
# Functions that choose along a dim: its place among their arguments, and what it is where it is
# not given. torch documents no order of equal keys.
CHOICES = {"topk": (2, -1), "kthvalue": (2, -1), "sort": (1, -1), "argsort": (1, -1),
           "mode": (1, -1), "argmax": (1, None), "argmin": (1, None), "max": (1, None),
           "min": (1, None), "median": (1, None), "nanmedian": (1, None)}
# Functions whose results are exact: nobody's rounding changes them.
EXACT = {"abs", "absolute", "neg", "negative", "relu", "relu_", "relu6", "hardtanh", "clamp",
         "clip", "maximum", "minimum", "amax", "amin", "aminmax", "round", "floor", "ceil",
         "trunc", "sign", "sgn", "where", "gather", "index_select", "take", "take_along_dim",
         "masked_select", "masked_fill", "index_put", "index_copy", "scatter", "embedding", "pad",
         "cat", "concat", "concatenate", "stack", "hstack", "vstack", "flip", "roll", "repeat",
         "repeat_interleave", "tile", "tril", "triu", "diag", "clone", "contiguous", "to", "type",
         "float", "unique", "unique_consecutive", "bincount", "histc", "count_nonzero", "one_hot",
         "nan_to_num", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like",
         "dropout", "bernoulli", "__getitem__", "reshape", "flatten", "permute", "transpose"}
# Of these some results are exact (a half of a number), and a call in double tells which.
ARITHMETIC = {"add", "radd", "sub", "subtract", "rsub", "mul", "multiply", "rmul", "div", "divide",
              "truediv", "rtruediv", "true_divide", "square", "pow", "sum", "mean"}
# Functions that sum products of their operands.
PRODUCTS = {*OPERANDS, "__matmul__", "__rmatmul__", "einsum", "tensordot", "inner", "cdist",
            "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
            "conv_transpose3d", "bilinear", "scaled_dot_product_attention"}
# Functions that step, and those that give a number to Python. Others that choose give integers.
STEPS = {"round", "floor", "ceil", "trunc", "frac", "sign", "sgn", "heaviside", "remainder", "fmod",
         "floor_divide", "__floordiv__", "__mod__", "item", "tolist", "__bool__", "__int__",
         "__float__", "median", "quantile"}
SIZES = (4, 2, 16, 8, 1)  # in rounding errors. A sum of 4,096 in one row is off by ten of them.
TF32 = 2.0 ** -11
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


def _elsewhere(shape, dtype, device):
    return torch.empty(shape, dtype=dtype, device=device)


def _join(whole, part, begin, end, length, make):
    """Writes the part into the whole answer, which is made at the first part."""
    if isinstance(part, torch.Tensor):
        if part.dim() == 0 or part.shape[0] != end - begin:
            raise ValueError("an answer that is not as long as its inputs")
        if whole is None:
            whole = make((length,) + tuple(part.shape[1:]), part.dtype, part.device)
        whole[begin:end] = part
        return whole
    if part is None:
        return None
    keys = range(len(part)) if isinstance(part, (list, tuple)) else part
    whole = whole if whole is not None else {k: None for k in keys}
    for k in keys:
        whole[k] = _join(whole[k], part[k], begin, end, length, make)
    return whole


def _in_form(whole, part):
    """The joined answer as the module gives it: lists and tuples again, those of a class of their
    own as plain ones."""
    if part is None or isinstance(part, torch.Tensor):
        return whole
    if isinstance(part, (list, tuple)):
        kind = tuple if isinstance(part, tuple) else list
        return kind(_in_form(whole[k], p) for k, p in enumerate(part))
    return {k: _in_form(whole[k], p) for k, p in part.items()}


def in_slices(module, inputs, n, room=None):
    """The module's answer in double, asked slice by slice along the first dimension, so that
    only a slice of its inputs is there in double. Whether slices have nothing to do with each
    other shows when the answer is compared with that of the whole in float. Inputs that are as
    long as the first one are all cut, or else that one alone. room: begins a new answer, and
    gives what makes its tensors; None: they lie anywhere."""
    first = _leading(list(inputs))
    if first is None:
        raise ValueError("no input to cut")
    length, error = first.shape[0], None
    for only in (None, first):
        try:
            whole, step = None, -(-length // n)
            make = room() if room is not None else _elsewhere
            for begin in range(0, length, step):
                end = min(begin + step, length)
                part = module(*_cut(list(inputs), length, begin, end, only))
                whole = _join(whole, part, begin, end, length, make)
            return _in_form(whole, part)
        except (RuntimeError, ValueError, IndexError) as failed:
            error = failed
    raise RuntimeError("the reference cannot be asked in slices (%s)" % error)


class Mover:
    """Moves each element of floating tensors up or down by a rounding error."""

    PIECE = 1 << 26  # elements that are moved at once: a copy of a large tensor takes enough

    def __init__(self, seed=1, way=1):
        self.signs = {}  # own generators, so that the module's draws stay the same
        self.seed, self.way = seed, way

    def random(self, t):
        if t.device not in self.signs:
            self.signs[t.device] = torch.Generator(device=t.device).manual_seed(self.seed)
        return torch.rand(t.shape, generator=self.signs[t.device], device=t.device)

    def __call__(self, t, eps):
        if t.numel() > self.PIECE:
            return self._in_pieces(t, eps)
        up, eps = self.random(t) < 0.5, eps * self.way
        t, kind = t.to(torch.float64 if t.dtype == torch.float64 else torch.float32), t.dtype
        return torch.where(up, t * (1 + eps), t * (1 - eps)).to(kind)

    def _in_pieces(self, t, eps):
        moved = torch.empty_like(t, memory_format=torch.contiguous_format)
        for to, part in zip(moved.view(-1).split(self.PIECE), t.reshape(-1).split(self.PIECE)):
            to.copy_(self(part, eps))
        return moved

    def result(self, t, eps):
        """Moves what an operation has just made: in place where there is much of it."""
        if t.numel() <= self.PIECE or not t.is_contiguous() or t.requires_grad:
            return self(t, eps)
        for part in t.view(-1).split(self.PIECE):
            part.copy_(self(part, eps))
        return t

    def input(self, t, times=1):
        """Moves by a rounding error of float32, or by so many."""
        kind = torch.float64 if t.dtype == torch.float64 else torch.float32
        return self(t, torch.finfo(kind).eps * times) if t.is_floating_point() else t


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
        return self.move.result(t, torch.finfo(t.dtype).eps)


def whole(t):
    """Integers below 2^24, of which float32 holds every sum."""
    return bool(((t == t.round()) & (t.abs() < 1 << 24)).all())


def scripted(module):
    """Whether some of it runs where a mode does not see it."""
    return isinstance(module, torch.nn.Module) and any(
        isinstance(part, torch.jit.ScriptModule) for part in module.modules())


class Choosing(Rounding):
    """One of several ways to round, by number. The result of each operation that rounds is moved
    by some rounding errors, and so are the operands of products, whose sums another order changes
    by more where they cancel. Of equal keys others come first. Exact results stay, sums of
    integers too: else a count of different numbers would change. An even number moves the other
    way than the odd one before it: of two choices that are nearly as good, one of both gives the
    second. tf32: every other pair moves operands as the least exact kernel of that league."""

    def __init__(self, number, tf32=False):
        pair = (number - 1) // 2
        super().__init__(Mover(pair + 1, 1 if number % 2 else -1))
        self.size = SIZES[pair % len(SIZES)]
        self.operands = TF32 if tf32 and pair % 2 else None
        self.places = Mover(number)
        self.chose = False  # whether a number became a choice: an index, a comparison, an integer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name, kwargs = getattr(func, "__name__", ""), dict(kwargs or {})
        self.chose = self.chose or name in STEPS or name in CHOICES or "_with_indices" in name
        floats, others = [], []
        each(lambda t: floats.append(t) if t.is_floating_point() else None, [list(args), kwargs])
        exact = all(whole(t) for t in floats)  # before the call, which may write to them
        answer = self._rounded(func, name, args, kwargs, floats, exact)
        each(lambda t: None if t.is_floating_point() else others.append(t), answer)
        self.chose = self.chose or bool(others and not exact)
        return answer

    def _rounded(self, func, name, args, kwargs, floats, exact):
        if name in CHOICES:
            return self._shuffled(func, args, kwargs, *CHOICES[name])
        if "max_pool" in name and name.endswith("_with_indices"):
            return self._pooled(func, args, kwargs)
        if name in EXACT or "max_pool" in name:
            return func(*args, **kwargs)
        made = []
        known = {t.untyped_storage().data_ptr() for t in floats if t.layout == torch.strided}
        product = name in PRODUCTS and not exact and "out" not in kwargs
        answer = func(*each(self._operand, list(args)), **each(self._operand, kwargs)) \
            if product else func(*args, **kwargs)
        each(lambda t: made.append(t) if t.is_floating_point() else None, answer)
        if not floats or (exact and all(whole(t) for t in made)):
            return answer
        moved = each(lambda t: self._moved(t, known), answer)
        if name.strip("_") not in ARITHMETIC or (name.endswith("_") and name[-2:] != "__") or \
                not isinstance(moved, torch.Tensor) or moved is answer or "out" in kwargs:
            return moved
        exact = func(*wide(tuple(args)), **wide(kwargs))
        return torch.where(answer.double() == exact, answer, moved)

    def _moved(self, t, known):
        if t.layout != torch.strided or t.dtype not in ROUNDED or \
                t.untyped_storage().data_ptr() in known:
            return t
        narrow = t.dtype in (torch.float16, torch.bfloat16)  # their sums are taken in float
        return self.move(t, torch.finfo(t.dtype).eps * (min(self.size, 2) if narrow else self.size))

    def _operand(self, t):
        if t.layout != torch.strided or t.dtype not in (torch.float32, torch.float64):
            return t
        return self.move(t, self.operands or torch.finfo(t.dtype).eps * self.size)

    def _shuffled(self, func, args, kwargs, at, dim):
        """Chooses among the keys in another order, which only equal ones can tell."""
        args = (kwargs.pop("input"), *args) if "input" in kwargs else args
        keys, dim = args[0], kwargs.get("dim", args[at] if len(args) > at else dim)
        if dim is None and func.__name__.startswith("arg") and not kwargs.get("keepdim"):
            args, keys, dim = (keys.flatten(), *args[1:]), keys.flatten(), 0
        if type(dim) is not int or keys.dim() == 0 or kwargs.get("stable") or "out" in kwargs:
            return func(*args, **kwargs)
        order = self.places.random(torch.empty(keys.shape[dim], device=keys.device)).argsort()
        answer = func(keys.index_select(dim, order), *args[1:], **kwargs)
        if isinstance(answer, torch.Tensor):
            return order[answer]
        return type(answer)((answer[0], order[answer[1]]))

    def _pooled(self, func, args, kwargs):
        """Moves what is pooled, zeros too, to choose; the values stay."""
        args = (kwargs.pop("input"), *args) if "input" in kwargs else args
        x, by, kind = args[0], self.places.random(args[0]) * 2 - 1, torch.finfo(args[0].dtype)
        moved = torch.where(x == 0, kind.tiny * by, x * (1 + kind.eps * by)).to(x.dtype)
        values, index = func(moved, *args[1:], **kwargs)
        dims = int(func.__name__[func.__name__.index("max_pool") + len("max_pool")])
        found = x.flatten(-dims).gather(-1, index.flatten(-dims))
        return found.view_as(values), index


class Watching(TorchFunctionMode):
    """Notes whether a function chooses along a dim."""

    def __init__(self):
        super().__init__()
        self.chose = False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        self.chose = self.chose or name in CHOICES or "_with_indices" in name
        return func(*args, **(kwargs or {}))


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


def widest(tensors):
    """Their widest type of floats; None: there is none."""
    kinds = {t.dtype for t in tensors if t.is_floating_point()}
    return max(kinds, key=lambda kind: kind.itemsize, default=None)


@contextlib.contextmanager
def double_by_default(kind):
    """kind: what a double stands for. torch.finfo tells its limits: a mask of the least number of
    a type, or a division by the norm and eps, is the same then."""
    kept, finfo = torch.get_default_dtype(), torch.finfo
    torch.set_default_dtype(torch.float64)
    if kind is not None:
        torch.finfo = lambda dtype=torch.float64: finfo(kind if dtype is torch.float64 else dtype)
    try:
        yield
    finally:
        torch.finfo = finfo
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
def _products_in_float():
    """A GPU's products do not read operands as TF32, whatever the league allows."""
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_tf32, convolutions.allow_tf32
    products.allow_tf32 = convolutions.allow_tf32 = False
    try:
        yield
    finally:
        products.allow_tf32, convolutions.allow_tf32 = before


@contextlib.contextmanager
def tf32(bits, by, nearest):
    """Computes each product like the least exact kernel that reads so many bits of its
    operands' significands, 11 in this league, and no fewer. nearest: like a kernel that rounds
    them to so many."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel(SDPBackend.MATH), _products_in_float(), Cutting(24 - bits, by, nearest):
        yield
