"""Which tensors share memory, element by element: views of one storage, however they are shaped."""

import random

ASKED = 64  # elements of each tensor


def _address(t, number):
    """In bytes, of the element with this number in order."""
    at = t.storage_offset()
    for n, step in zip(reversed(t.shape), reversed(t.stride())):
        at += number % n * step
        number //= n
    return at * t.element_size()


def _holds(t, address):
    """Does an element of t begin in these bytes? Exact where t does not overlap itself."""
    left = address // t.element_size() - t.storage_offset()
    for step, n in sorted(((s, n) for s, n in zip(t.stride(), t.shape) if s > 0), reverse=True):
        left -= min(n - 1, left // step) * step if left > 0 else 0
    return left == 0


def shares(a, b):
    """A few elements of each are looked for in the other."""
    if a.numel() == 0 or b.numel() == 0 or \
            a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr():
        return False
    draw = random.Random(a.numel() + b.numel())
    for one, other in ((a, b), (b, a)):
        last = one.numel() - 1
        numbers = {0, last} | {draw.randint(0, last) for _ in range(ASKED)}
        if any(_holds(other, _address(one, k)) for k in numbers):
            return True
    return False


def pairs(tensors):
    """{(k, i)} with k < i: tensors that share memory."""
    return {(k, i) for i in range(len(tensors)) for k in range(i)
            if shares(tensors[k], tensors[i])}
