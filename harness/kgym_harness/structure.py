"""What a problem's inputs have in common from draw to draw, beyond shape and range: a guarantee
that an honest kernel may use. An input that has it is drawn by the problem alone and never edited.

It counts where it holds in all draws, and by chance would hold once in 10^9 draws of independent
values. Values that are all equal, and ranges, are no structure. Large tensors are looked at in
part. Most have none, so each look begins with a few elements of the first draw."""

import math

import torch

MOST = 1 << 18  # elements that are looked at
LINES = 16  # of a long axis
FEW = 4  # lines that a look begins with
RARE = 9  # decimal digits of the chance
CLOSE = 0.02  # of a sum's deviation where elements are independent
NEAREST = 1e-5  # nearer than this is no rarer


def _part(t):
    """At most MOST elements, double. A leading block, which keeps what a matrix is."""
    t = t.detach()
    if t.dim() >= 2 and t.shape[-1] == t.shape[-2]:
        side = min(t.shape[-1], 1024)
        t = t[..., :side, :side]
    for d in range(t.dim()):
        if t.numel() > MOST:
            rest = t.numel() // max(1, t.shape[d])
            t = t.narrow(d, 0, max(1, min(t.shape[d], MOST // max(1, rest))))
    return t.double()


def _lines(t, axis, most=None):
    """Whole lines along an axis, as rows; None: there are not any to speak of."""
    n = t.shape[axis]
    if n < 2:
        return None
    rows = t.detach().movedim(axis, -1)
    most = most or max(LINES, MOST // n)
    for d in range(rows.dim() - 1):
        count = rows.numel() // n
        if count > most:
            keep = max(1, most // max(1, count // rows.shape[d]))
            rows = rows.narrow(d, 0, min(rows.shape[d], keep))
    return rows.reshape(-1, n)[:most].double()


def _zeros(draws):
    """Zeros, or infinite numbers, at the same places in each draw, and others elsewhere."""
    parts = [_part(t) for t in draws]
    for special in (lambda p: p == 0, lambda p: ~torch.isfinite(p)):
        wheres = [special(p) for p in parts]
        few = min(int(wheres[0].sum()), int((~wheres[0]).sum()))
        if few * len(draws) > 3 * RARE and all(torch.equal(w, wheres[0]) for w in wheres[1:]):
            return True
    return False


def _symmetric(draws):
    if draws[0].dim() < 2 or draws[0].shape[-1] != draws[0].shape[-2]:
        return False
    corner = draws[0][..., :8, :8].detach().double()
    if not torch.allclose(corner, corner.transpose(-1, -2), rtol=1e-3, atol=1e-3):
        return False
    parts = [_part(t) for t in draws]
    pairs = sum(int((p != 0).sum()) for p in parts) // 2
    return pairs > 2 * RARE and all(
        torch.allclose(p, p.transpose(-1, -2), rtol=1e-5, atol=1e-6 * float(p.abs().max()))
        for p in parts)


def _definite(draws):
    return _symmetric(draws) and all(
        bool((torch.linalg.cholesky_ex(_part(t))[1] == 0).all()) for t in draws)


def _sorted(draws, axis):
    """Along an axis, up or down. Equal neighbours say nothing."""
    digits = 0.0
    first = _lines(draws[0], axis, FEW)
    if first is None:
        return False
    steps = first[:, :64].diff(dim=1)
    up, down = bool((steps >= 0).all()), bool((steps <= 0).all())
    for t in draws if up or down else ():
        steps = _lines(t, axis).diff(dim=1)
        up, down = up and bool((steps >= 0).all()), down and bool((steps <= 0).all())
        if not up and not down:
            return False
        distinct = (steps != 0).sum(dim=1) + 1
        digits += float(torch.lgamma(distinct.double() + 1).sum()) / math.log(10)
    return digits > RARE


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
        return False
    count, wanted, worst = 0, None, NEAREST
    for t in draws:
        rows = _lines(t, axis)
        distance, wanted = _distance(rows, power, wanted)
        worst = max(worst, distance)
        count += rows.shape[0]
    return worst <= CLOSE and (count - 1) * -math.log10(worst) > RARE


def _along(look, draws):
    return any(look(draws, axis) for axis in range(draws[0].dim()))


KINDS = {
    "zeros": _zeros,
    "symmetric": _symmetric,
    "definite": _definite,
    "sorted": lambda draws: _along(_sorted, draws),
    "sums": lambda draws: _along(lambda d, axis: _constant(d, axis, 1), draws),
    "norms": lambda draws: _along(lambda d, axis: _constant(d, axis, 2), draws),
}


def _plain(draws):
    """Values that can have structure: floating, not all equal."""
    t = draws[0]
    return t.is_floating_point() and t.numel() > 1 and t.layout is torch.strided and \
        bool((t != t.reshape(-1)[0]).any())


def find(draws):
    """draws: of each input its tensors, one of each draw. Returns a list of kinds for each."""
    found = [[] for _ in draws]
    for i, tensors in enumerate(draws):
        if not _plain(tensors):
            continue
        finite = all(bool(torch.isfinite(t).all()) for t in tensors)
        found[i] = [kind for kind, look in KINDS.items()
                    if (finite or kind == "zeros") and look(tensors)]
        for k in range(i):
            if draws[k][0].shape == tensors[0].shape and draws[k][0].dtype == tensors[0].dtype \
                    and all(torch.equal(a, b) for a, b in zip(draws[k], tensors)):
                found[i].append("equal")
                found[k].append("equal")
    return [sorted(set(kinds)) for kinds in found]
