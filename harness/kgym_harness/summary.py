"""Facts about a tensor: its form, and statistics of its values."""

import math

import torch

SAMPLE = 1 << 20  # most elements for mean and deviation
DISTINCT = 1 << 16


def _number(x):
    x = float(x)
    return x if math.isfinite(x) else None


def sample(t, most):
    flat = t.detach().reshape(-1)
    step = max(1, flat.numel() // most)
    return flat[::step]


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
