"""What a problem's inputs have in common from draw to draw, beyond shape and range: a guarantee
that an honest kernel may use. Laws of the judge keep it (keeping.py), or are not asked.

It is found where it holds in all draws, and by chance would hold once in 10^9 draws of independent
values. Where that is once in 10^3, the input is `unsure`: it is drawn by the problem alone, too.
Values that are all equal, and ranges, are no structure. Large tensors are looked at in part: a
leading block, and elements at random places. Most have none, so each look begins with a few
elements of the first draw."""

import math

import torch

MOST = 1 << 18  # elements that are looked at
LINES = 16  # of a long axis
FEW = 4  # lines that a look begins with
SIDE = 128  # of a matrix that may be definite
RARE = 9  # decimal digits of the chance
UNSURE = 3
CLOSE = 0.02  # of a sum's deviation where elements are independent
NEAREST = 1e-5  # nearer than this is no rarer
PLACES = 1 << 14  # that are compared with each other
LIKE = 32  # tensors of the same size that one of the state is compared with


def _extents(shape, most):
    """Of a block of at most so many elements. Square where the last two axes are."""
    shape = list(shape)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        shape[-1] = shape[-2] = min(shape[-1], math.isqrt(most))
    for d in range(len(shape)):
        whole = math.prod(shape)
        if whole > most:
            shape[d] = max(1, min(shape[d], most * shape[d] // whole))
    return shape


def _places(count, n):
    """At most so many of 0 to n - 1, in order. The same ones in each draw."""
    draw = torch.Generator(device="cpu").manual_seed(n)
    return torch.randint(0, n, (count,), generator=draw, device="cpu").unique() if count < n \
        else torch.arange(n, device="cpu")


def _scattered(t, extents):
    """Elements at random places of each axis. A square matrix keeps its diagonal."""
    grid = [_places(n, size).to(t.device).reshape([-1] + [1] * (t.dim() - d - 1))
            for d, (n, size) in enumerate(zip(extents, t.shape))]
    return t[tuple(grid)]


def _parts(t):
    """Blocks of at most MOST elements together, double."""
    t = t.detach()
    if t.numel() <= MOST:
        return [t.double()]
    extents = _extents(t.shape, MOST // 2)
    leading = t[tuple(slice(0, n) for n in extents)]
    return [leading.double(), _scattered(t, extents).double()]


def _lines(t, axis, most=None):
    """Whole lines along an axis, as rows: the first ones, and some at random places. None: there
    are not any to speak of."""
    n = t.shape[axis]
    if n < 2:
        return None
    rows = t.detach().movedim(axis, -1)
    whole = rows.numel() // n
    count = min(whole, most or max(LINES, MOST // n))
    if count == whole:
        return rows.reshape(-1, n).double()
    first = count if most else count // 2
    numbers = torch.cat([torch.arange(first, device="cpu"),
                         first + _places(count - first, whole - first)]).to(t.device)
    at = []
    for size in reversed(rows.shape[:-1]):
        at.append(numbers % size)
        numbers = numbers // size
    return rows[tuple(reversed(at))].double()


# Each look returns the decimal digits of the chance that independent values have it; 0: they lack
# it.


def _zeros(draws):
    """Zeros, or infinite numbers, at the same places in each draw, and others elsewhere."""
    parts, most = [_parts(t) for t in draws], 0.0
    for special in (lambda p: p == 0, lambda p: ~torch.isfinite(p)):
        wheres = [[special(p) for p in blocks] for blocks in parts]
        few = min(sum(int(w.sum()) for w in wheres[0]), sum(int((~w).sum()) for w in wheres[0]))
        if few > 0 and all(torch.equal(w, first) for more in wheres[1:]
                           for w, first in zip(more, wheres[0])):
            most = max(most, few * len(draws) / 3)
    return most


def _mirrored(p, sign):
    return torch.allclose(p, sign * p.transpose(-1, -2), rtol=1e-5,
                          atol=1e-6 * float(p.abs().max()))


def _symmetric(draws, sign=1):
    if draws[0].dim() < 2 or draws[0].shape[-1] != draws[0].shape[-2]:
        return 0
    corner = draws[0][..., :8, :8].detach().double()
    if not torch.allclose(corner, sign * corner.transpose(-1, -2), rtol=1e-3, atol=1e-3):
        return 0
    parts = [p for t in draws for p in _parts(t)]
    if not all(_mirrored(p, sign) for p in parts):
        return 0
    pairs = sum(int((p != 0).sum()) - int((p.diagonal(dim1=-1, dim2=-2) != 0).sum())
                for p in parts) // 2
    return pairs / 2


def _definite(draws):
    """A principal block of such a matrix is definite, too."""
    if _symmetric(draws) <= UNSURE:
        return 0
    for t in draws:
        for p in _parts(t):
            block = p.reshape(-1, *p.shape[-2:])[:LINES, :SIDE, :SIDE]
            values = torch.linalg.eigvalsh(block)
            if bool((values[:, 0] < -NEAREST * values[:, -1].abs()).any()):
                return 0
    return math.inf


def _dominant(draws):
    """Each element of the diagonal is larger than all others: such a matrix has no need of pivots.
    """
    if draws[0].dim() < 2 or draws[0].shape[-1] != draws[0].shape[-2]:
        return 0
    digits = 0.0
    for p in (p for t in draws for p in _parts(t)):
        size = p.abs().reshape(-1, *p.shape[-2:])
        diagonal = size.diagonal(dim1=-2, dim2=-1)
        others = size - torch.diag_embed(diagonal)
        if bool((diagonal.amin(dim=1) <= others.amax(dim=(1, 2))).any()):
            return 0
        n, there = torch.tensor(float(p.shape[-1])), (size != 0).sum(dim=(1, 2)).double()
        chance = torch.lgamma(there + 1) - torch.lgamma(there - n + 1) - torch.lgamma(n + 1)
        digits += float(chance.sum()) / math.log(10)
    return digits


def _diagonals(draws):
    """Each diagonal holds one number (Toeplitz)."""
    digits = 0.0
    for t in draws if draws[0].dim() > 1 else ():
        block = _parts(t)[0]
        if not torch.equal(block[..., 1:, 1:], block[..., :-1, :-1]):
            return 0
        digits += block[..., 1:, 1:].numel() / 2
    return digits


def _same_places(draws):
    """Places that hold the same number in each draw: the halves of a table."""
    blocks = [_parts(t)[0].reshape(-1)[:PLACES] for t in draws]
    n, chance = blocks[0].numel(), 1.0
    for block in blocks:
        counts = block.unique(return_counts=True)[1].double()
        if counts.numel() > n * 0.9:
            return 0
        chance *= float((counts / n).square().sum())
    pairs, usual = n - torch.stack(blocks).unique(dim=1).shape[1], n * n * chance / 2
    return pairs * math.log10(pairs / (math.e * usual)) if pairs > math.e * usual else 0


def _low_rank(draws):
    """Rows of which few make all others. A small matrix of few values may be so by chance. On the
    CPU: a GPU's library for it takes memory and a third of a second when it starts."""
    for t in draws:
        block = _parts(t)[0]
        if block.dim() < 2 or min(block.shape[-2:]) < LINES:
            return 0
        block = block.reshape(-1, *block.shape[-2:])[0, :SIDE, :SIDE]
        values = torch.linalg.svdvals(block.cpu())
        if float(values[-1]) > NEAREST * float(values[0]):
            return 0
    return RARE


def _sorted(draws, axis):
    """Along an axis, up or down. Equal neighbours say nothing."""
    digits = 0.0
    first = _lines(draws[0], axis, FEW)
    if first is None:
        return 0
    steps = first[:, :64].diff(dim=1)
    up, down = bool((steps >= 0).all()), bool((steps <= 0).all())
    for t in draws if up or down else ():
        steps = _lines(t, axis).diff(dim=1)
        up, down = up and bool((steps >= 0).all()), down and bool((steps <= 0).all())
        if not up and not down:
            return 0
        distinct = (steps != 0).sum(dim=1) + 1
        digits += float(torch.lgamma(distinct.double() + 1).sum()) / math.log(10)
    return digits


def _distance(rows, power, wanted=None):
    """How far the sums of lines are from one number, in deviations of what sums of independent
    elements would be; infinite: the elements do not differ. And that number."""
    values = rows ** power
    sums = values.sum(dim=1)
    wanted = float(sums[0]) if wanted is None else wanted
    spread = float(values.std()) * math.sqrt(values.shape[1])
    return (float((sums - wanted).abs().max()) / spread if spread > 0 else math.inf), wanted


def _constant(draws, axis, power):
    """The sum of each line is the same number (of squares: the norm is)."""
    first = _lines(draws[0], axis, FEW)
    if first is None or _distance(first, power)[0] > CLOSE:
        return 0
    count, wanted, worst = 0, None, NEAREST
    for t in draws:
        rows = _lines(t, axis)
        distance, wanted = _distance(rows, power, wanted)
        worst = max(worst, distance)
        count += rows.shape[0]
    return (count - 1) * -math.log10(worst) if worst <= CLOSE else 0


def _repeated(draws, axis):
    """One line, again and again: an input that was expanded, or repeated."""
    first = _lines(draws[0], axis, FEW)
    if first is None or not bool((first == first[:, :1]).all()):
        return 0
    rows = torch.cat([_lines(t, axis) for t in draws])
    repeats = rows.numel() - rows.shape[0]
    return repeats / 2 if bool((rows == rows[:, :1]).all()) else 0


def _along(look, draws):
    return max((look(draws, axis) for axis in range(draws[0].dim())), default=0)


KINDS = {
    "zeros": _zeros,
    "symmetric": _symmetric,
    "definite": _definite,
    "dominant": _dominant,
    "sorted": lambda draws: _along(_sorted, draws),
    "sums": lambda draws: _along(lambda d, axis: _constant(d, axis, 1), draws),
    "norms": lambda draws: _along(lambda d, axis: _constant(d, axis, 2), draws),
    "repeated": lambda draws: _along(_repeated, draws),
}
# No law of the judge's keeps these. Those of OTHERS may come with one of KINDS, which is kept.
UNKEPT = (lambda draws: _symmetric(draws, -1), _diagonals)
OTHERS = (_same_places, _low_rank)


def _plain(draws):
    """Values that can have structure: floating, not all equal."""
    t = draws[0]
    return t.is_floating_point() and t.numel() > 1 and t.layout is torch.strided and \
        bool((t != t.reshape(-1)[0]).any())


def _kinds(draws):
    finite = all(bool(torch.isfinite(t).all()) for t in draws)
    found = []
    for kind, look in KINDS.items():
        digits = look(draws) if finite or kind == "zeros" else 0
        if digits > UNSURE:
            found.append(kind if digits > RARE else "unsure")
    looks = UNKEPT if found else UNKEPT + OTHERS
    unkept = finite and any(look(draws) > UNSURE for look in looks)
    return found + ["unsure"] if unkept else found


def _in_line(a, b):
    """One is a multiple of the other, plus a number; or their squares are so, as of cosine and
    sine."""
    both = torch.stack([t.detach().reshape(-1)[:MOST].double() for t in (a, b)])
    for power in (1, 2) if both.shape[1] > RARE else ():
        pair = both ** power
        pair = pair - pair.mean(dim=1, keepdim=True)
        size = float(pair[0].norm() * pair[1].norm())  # PyTorch compiles prod for half a second
        if size > 0 and abs(float((pair[0] * pair[1]).sum())) > (1 - NEAREST) * size:
            return True
    return False


def _alike(a, b):
    """`equal`: the same tensor. `shared`: the same values in another shape, or transposed.
    `unsure`: a law of the judge's would part them."""
    if a.numel() != b.numel() or a.dtype != b.dtype:
        return None
    if a.shape == b.shape:
        return "equal" if torch.equal(a, b) else \
            "shared" if a.dim() == 2 and torch.equal(a.T, b) else \
            "unsure" if _in_line(a, b) else None
    if torch.equal(a.reshape(-1), b.reshape(-1)):
        return "shared"
    return "shared" if a.dim() == 2 and a.T.shape == b.shape and torch.equal(a.T, b) else None


def _relation(one, other):
    kinds = {_alike(a, b) for a, b in zip(one, other)}
    return kinds.pop() if len(kinds) == 1 else None


def find(draws, overlapping=()):
    """draws: of each input its tensors, one of each draw. overlapping: {(k, i)}, inputs that share
    memory in each draw. Returns a list of kinds for each."""
    found = [_kinds(tensors) if _plain(tensors) else [] for tensors in draws]
    for i, tensors in enumerate(draws):
        for k in range(i):
            kind = _relation(draws[k], tensors) if _plain(tensors) and _plain(draws[k]) else None
            kind = kind or ("shared" if (k, i) in overlapping else None)
            if kind:
                found[i].append(kind)
                found[k].append(kind)
    return [sorted(set(kinds)) for kinds in found]



def of_state(tensors, tied):
    """Numbers of the parameters and buffers whose values have structure: a triangular weight,
    another one's copy. One construction is enough: a tensor that has it by chance keeps its
    values, which costs little. tied: those that have another one's memory."""
    found, sizes = set(), {}
    for i, t in enumerate(tensors):
        if i in tied or not _plain([t]):
            continue
        if _kinds([t]):
            found.add(i)
        same = sizes.setdefault((t.numel(), t.dtype), [])
        for k in same[-LIKE:]:
            if _alike(tensors[k], t):
                found |= {k, i}
        same.append(i)
    return found
