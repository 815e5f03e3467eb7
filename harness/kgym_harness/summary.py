"""Facts about a tensor: its form, and statistics of its values."""

import math

import torch

SAMPLE = 1 << 20  # most elements for mean and deviation
DISTINCT = 1 << 16
# of a fill: at one place in so many at least, its values as much alike, its size so many times that
# of all others; these are so many at least, and one in so many of all, and none is so many times
# their root mean square
SHARE, ALIKE, ABOVE, FEWEST, EVEN = 10000, 2 ** -9, 1000, 32, 32


def _number(x):
    x = float(x)
    return x if math.isfinite(x) else None


def sample(t, most):
    flat = t.detach().reshape(-1)
    step = max(1, flat.numel() // most)
    return flat[::step]


def fill_of(t):
    """Of an answer with a finite fill, as of masked_fill(mask, -1e9): the size from which on a
    value is the fill's; None: it has none. A fill is the largest value, nearly the same at one
    place in SHARE or more, and far above all others, whose own sizes are alike: a softmax has no
    fill."""
    if t.numel() == 0 or not t.is_floating_point():
        return None
    part = sample(t, SAMPLE).double().abs()
    part = part[torch.isfinite(part)]
    most = float(part.max()) if part.numel() > 0 else 0.0
    fill = part >= most * (1 - ALIKE)
    rest = part[~fill]
    if rest.numel() < max(FEWEST, part.numel() / FEWEST) or int(fill.sum()) * SHARE < part.numel():
        return None
    scale = float(rest.square().mean().sqrt())
    far = 0 < float(rest.max()) < min(most / ABOVE, scale * EVEN)
    return most / 2 if far and int(fill.sum()) > 1 else None


def facts_of(t):
    facts = {"dtype": str(t.dtype).split(".")[-1], "shape": list(t.shape),
             "integer": not t.is_floating_point(), "contiguous": t.is_contiguous()}
    if t.numel() == 0 or t.is_complex():
        return facts
    part = sample(t, SAMPLE).double()
    finite = part[torch.isfinite(part)]
    low, high = torch.aminmax(t) if t.dtype is not torch.bool else (t.all(), t.any())
    facts["min"], facts["max"] = _number(low), _number(high)
    facts["finite"] = None not in (facts["min"], facts["max"])  # a NaN anywhere is both
    if finite.numel() > 0:
        facts["mean"] = _number(finite.mean())
        facts["sd"] = _number(finite.std(unbiased=False))
        facts["whole"] = bool((finite == finite.round()).all())
    facts["distinct"] = int(torch.unique(sample(t, DISTINCT)).numel())
    return facts
