"""What integer inputs have in common from draw to draw: order, sums, values that are all
different, the same ones again, one input that follows from another. An honest kernel may use it,
and an edit of one element would break it, so such inputs are not edited.
What holds by chance costs an edit and no more, so little is asked of the chance."""

import math

import torch

from .structure import UNSURE, _in_line, _lines, _same_places

RARE = 3  # decimal digits: all values differ, and would not by chance
PAIRS = 4  # lines of two elements that are in order, at least
LONG = 8  # elements of a line that may be in order where others are not
FEW = 16  # such lines


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


def _restarts(rows):
    """Each number is one more than the last, or 0: positions in segments."""
    steps = rows.diff(dim=1)
    return rows.shape[1] > LONG and bool((steps == 1).any()) and \
        bool(((steps == 1) | (rows[:, 1:] == 0)).all())


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


LOOKS = (("sorted", _sorted), ("sorted", _restarts), ("sums", _sums), ("distinct", _distinct),
         ("repeated", _repeated))


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


def _one_sorted(draws):
    """One of a few lines is in order: edges by where they end."""
    t = draws[0]
    if t.dim() < 2 or t.shape[-1] <= LONG or t.numel() > FEW * t.shape[-1]:
        return False
    steps = torch.stack([d.reshape(-1, d.shape[-1]) for d in draws]).diff(dim=2)
    return bool(((steps >= 0).all(dim=2).all(dim=0) | (steps <= 0).all(dim=2).all(dim=0)).any())


def _running(a, b):
    """One holds the sums of the other so far: where segments begin, and how long they are."""
    if a.dim() != 1 or b.dim() != 1 or a.numel() not in (b.numel(), b.numel() + 1):
        return False
    steps = a.diff()
    return steps.numel() > 1 and (torch.equal(steps, b[:steps.numel()].to(steps.dtype)) or
                                  torch.equal(steps, b[-steps.numel():].to(steps.dtype)))


def _counted(a, b):
    """How often each number comes: of tokens for each expert."""
    return b.dim() == 1 and not b.is_floating_point() and int(a.min()) >= 0 and \
        int(a.max()) < b.numel() and \
        torch.equal(a.reshape(-1).long().bincount(minlength=b.numel()), b.long())


def _masked(a, b):
    """A mask of where the other one has, or has not, one number: of padding."""
    if b.dtype is not torch.bool or a.shape != b.shape or a.numel() <= LONG:
        return False
    for there in (b, ~b):
        values = a[there].unique()
        if values.numel() == 1 and not bool((a[~there] == values).any()):
            return True
    return False


def _follows(one, other):
    """The second input from the first, in each draw."""
    if one[0].is_complex() or other[0].is_complex():
        return False
    looks = (_running, _counted, _masked)
    return any(all(look(a, b) for a, b in zip(one, other)) for look in looks) or \
        (one[0].numel() == other[0].numel() and all(_in_line(a, b) for a, b in zip(one, other)))


def find(draws):
    """As structure.find, of the integer inputs, and of what follows from them."""
    found = [set() for _ in draws]
    whole = [i for i, tensors in enumerate(draws) if _whole(tensors[0]) and tensors[0].numel() > 0]
    for i in whole:
        for axis in [None, *range(draws[i][0].dim())]:
            rows = _rows(draws[i], axis)
            if rows is None:
                continue
            found[i] |= {kind for kind, look in LOOKS if look(rows)}
        if _symmetric(draws[i]):
            found[i].add("symmetric")
        if _one_sorted(draws[i]):
            found[i].add("sorted")
        if not found[i] and _same_places(draws[i]) > UNSURE:
            found[i].add("repeated")
        for k, other in enumerate(draws):
            if k != i and other[0].numel() > 1 and _follows(draws[i], other):
                found[i].add("unsure")
                found[k].add("unsure")
        for k in whole:
            if k != i and _ordered(draws[i], draws[k]):
                found[i].add("sorted")
    return [sorted(kinds) for kinds in found]
