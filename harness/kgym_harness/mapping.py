"""Which tensors of a module the reference's state goes into.

By name where the module has all of the names that it needs; otherwise by order and shape. A tensor
that a candidate need not have (influence.py) may be missing. Names that a module has twice for one
tensor count once, and so do those of the reference."""

from . import influence

MOST_LEFT_OUT = 256  # tensors that may be missing where the mapping goes by order


def by_name(given, need, own):
    """[(reference's name, own name)], or None."""
    shapes = {name: t.shape for name, t in own}
    fits = [shapes.get(name) == t.shape for name, t in given]
    if not all(fit or what != influence.NEEDED for fit, what in zip(fits, need)):
        return None
    return [(name, name) for (name, _), fit in zip(given, fits) if fit]


def one_by_one(given, own):
    """The same, where all tensors have each other's shapes in order. None: they have not."""
    if [tuple(t.shape) for _, t in given] != [tuple(t.shape) for _, t in own]:
        return None
    return [(name, mine) for (name, _), (mine, _) in zip(given, own)]


def _feasible(given, need, own, most):
    """{(i, j): given[i:] can go into own[j:]}; at most so many of given are left out."""
    n, m, can = len(given), len(own), {}
    for i in range(n, -1, -1):
        for j in range(min(i, m), max(0, i - most) - 1, -1):
            if i == n:
                can[i, j] = j == m
                continue
            take = j < m and given[i] == own[j] and can.get((i + 1, j + 1), False)
            can[i, j] = take or (need[i] != influence.NEEDED and can.get((i + 1, j), False))
    return can


def _walk(given, need, own, can, early):
    found, j = [], 0
    for i in range(len(given)):
        take = j < len(own) and given[i] == own[j] and can.get((i + 1, j + 1), False)
        leave = need[i] != influence.NEEDED and can.get((i + 1, j), False)
        if take and (early or not leave):
            found.append((i, j))
            j += 1
    return found


def by_order(given, need, own):
    """The same, where tensors of the same shapes follow each other, but for those that may be
    missing. None: they do not, or could go into more places than one."""
    twice = influence.ties(own)
    for drop in ((), twice):
        mine = [part for i, part in enumerate(own) if i not in drop]
        for counters in (True, False):
            if not counters:
                mine = [(name, t) for name, t in mine if not influence.is_counter(t)]
            found = _ordered(given, need, mine)
            if found is not None:
                return found
    return None


def _ordered(given, need, own):
    a, b = [tuple(t.shape) for _, t in given], [tuple(t.shape) for _, t in own]
    left_out = len(a) - len(b)
    if not 0 <= left_out <= MOST_LEFT_OUT or not b:
        return None
    can = _feasible(a, need, b, left_out)
    if not can.get((0, 0), False):
        return None
    one, other = (_walk(a, need, b, can, early) for early in (True, False))
    if [p for p in one if need[p[0]] == influence.NEEDED] != \
            [p for p in other if need[p[0]] == influence.NEEDED]:
        return None
    return [(given[i][0], own[j][0]) for i, j in one]
