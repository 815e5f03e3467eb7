"""Where get_inputs() is run: on the CPU, or with the device as PyTorch's default, where that is
shown to give inputs alike. A gigabyte takes seconds on one core, and milliseconds on a GPU.

It is shown once for each problem, by a draw there beside one here: number, shapes, types, structure
and laws. Any exception and any difference means the CPU. Two runs of the same code that differ do
so in what depends on the device, and that is coarse: another type, another law, an error."""

import math

import torch

WORTH = 1 << 20  # elements of all inputs
SAMPLE = 1 << 16
RARE = 1e-9  # chance that draws of one law look unlike
MANY = 1 << 12  # elements whose range says something
SPREAD = 0.25  # of the range, by which least and greatest values of two draws may differ

# How an input differs from one draw to the next on the same device: not at all; by chance; in its
# law, by a random scale, say; in the form of its law, as softmax(scale * x) does.
FIXED, DRAWN, SCALED, FORMED = range(4)


def _sample(t):
    flat = t.detach().reshape(-1)
    return flat[::max(1, flat.numel() // SAMPLE)].double()


def _range(t):
    low, high = torch.aminmax(t) if t.dtype is not torch.bool else (t.all(), t.any())
    return float(low), float(high)


def _distance(a, b):
    """The largest difference of two distributions (Kolmogorov-Smirnov)."""
    a, b = (p.nan_to_num().sort().values for p in (a, b))
    both = torch.cat([a, b])
    at = [torch.searchsorted(p, both, right=True).double() / p.numel() for p in (a, b)]
    return float((at[0] - at[1]).abs().max())


def _standard(p, bounds):
    """A sample and its range, moved and scaled to mean 0 and deviation 1."""
    mean, spread = float(p.mean()), float(p.std())
    if not (math.isfinite(mean) and spread > 0):
        return p, bounds
    return (p - mean) / spread, tuple((v - mean) / spread for v in bounds)


def same_law(a, b, how=DRAWN):
    """Could two tensors of one shape be draws of one law? SCALED: whatever mean and deviation are.
    FORMED: only integers, infinities, and the signs of the least and the greatest are compared."""
    (p, one), (q, other) = (_sample(a), _range(a)), (_sample(b), _range(b))
    if bool((p == p.round()).all()) != bool((q == q.round()).all()):
        return False
    if how == FORMED and [v < 0 for v in one] != [v < 0 for v in other]:
        return False
    if how == SCALED:
        (p, one), (q, other) = _standard(p, one), _standard(q, other)
    if [math.isfinite(v) for v in one] != [math.isfinite(v) for v in other]:
        return False
    if how == FORMED:
        return True
    width = max(one[1] - one[0], other[1] - other[0])
    apart = max(abs(one[0] - other[0]), abs(one[1] - other[1]))
    if a.numel() >= MANY and math.isfinite(width) and apart > SPREAD * width:
        return False
    most = math.sqrt(-math.log(RARE / 2) / p.numel())
    return _distance(p, q) <= most


def difference(a, b):
    """Of two draws of one input on one device."""
    if torch.equal(a, b):
        return FIXED
    return next((how for how in (DRAWN, SCALED) if same_law(a, b, how)), FORMED)


def alike(columns, differs, find):
    """columns: of each input its tensors, the first one drawn on the CPU, the others on the
    device, and all there. differs: how each differs from one draw on the device to the next. No
    more is compared than what those have in common. find: structure.find."""
    for (here, there, *_), how in zip(columns, differs):
        if not torch.equal(here, there) and (how == FIXED or not same_law(here, there, how)):
            return False
    alone = find([column[:1] for column in columns])
    device = find([column[1:] for column in columns])
    every = find(columns)
    # by one draw alone, zeros are always at the same places
    return all(set(a) - {"zeros"} <= set(e) and set(d) - {"zeros"} <= set(e)
               for a, d, e in zip(alone, device, every))
