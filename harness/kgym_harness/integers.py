"""What integer inputs have in common from draw to draw: order, sums, values that are all
different, one line again and again. An honest kernel may use it, and an edit of one element would
break it, so such inputs are not edited.
What holds by chance costs an edit and no more, so little is asked of the chance."""

import math

import torch

from .structure import _lines

RARE = 3  # decimal digits: all values differ, and would not by chance
PAIRS = 4  # lines of two elements that are in order, at least


def _whole(t):
    return not (t.is_floating_point() or t.is_complex() or t.dtype is torch.bool)


def _rows(draws, axis):
    """Lines of all draws: along an axis, or (None) all elements as one line."""
    lines = [_lines(t.reshape(1, -1), 1) if axis is None else _lines(t, axis) for t in draws]
    return None if lines[0] is None else torch.cat(lines)


def _sorted(rows):
    steps = rows.diff(dim=1)
    return (rows.shape[1] > 2 or rows.shape[0] >= PAIRS) and \
        bool((steps >= 0).all() or (steps <= 0).all())


def _sums(rows):
    sums = rows.sum(dim=1)
    return bool((sums == sums[0]).all())


def _repeated(rows):
    return bool((rows == rows[:, :1]).all()) and bool((rows != rows[0, 0]).any())


def _distinct(rows):
    n = rows.shape[1]
    values = rows.max() - rows.min() + 1
    chance = rows.shape[0] * n * (n - 1) / (2 * float(values) * math.log(10))
    return chance > RARE and bool((rows.sort(dim=1).values.diff(dim=1) != 0).all())


def _symmetric(draws):
    t = draws[0]
    return t.dim() >= 2 and t.shape[-1] == t.shape[-2] and t.shape[-1] > 1 and \
        all(torch.equal(t, t.transpose(-1, -2)) for t in draws)


def _ordered(a, b):
    """One is nowhere more than the other: ends of intervals."""
    if a[0].shape != b[0].shape:
        return False
    return all(bool((x <= y).all()) for x, y in zip(a, b)) or \
        all(bool((x >= y).all()) for x, y in zip(a, b))


def find(draws):
    """As structure.find, of the integer inputs."""
    found = [set() for _ in draws]
    whole = [i for i, tensors in enumerate(draws) if _whole(tensors[0]) and tensors[0].numel() > 0]
    for i in whole:
        for axis in [None, *range(draws[i][0].dim())]:
            rows = _rows(draws[i], axis)
            if rows is None:
                continue
            found[i] |= {kind for kind, look in (("sorted", _sorted), ("sums", _sums),
                                                 ("distinct", _distinct),
                                                 ("repeated", _repeated)) if look(rows)}
        if _symmetric(draws[i]):
            found[i].add("symmetric")
        for k in whole:
            if k != i and _ordered(draws[i], draws[k]):
                found[i].add("sorted")
    return [sorted(kinds) for kinds in found]
