"""Which tensors share memory, element by element: whatever they are views of, and however they are
shaped."""

import random

import torch

ASKED = 64  # elements of each tensor

# Taken before any code of a problem or a candidate runs, which may put others in their place.
_pointer, _shape, _stride = torch.Tensor.data_ptr, torch.Tensor.size, torch.Tensor.stride
_size = torch.Tensor.element_size


def reach(t):
    """[first, end) of the addresses of its elements; of none (0, 0)."""
    shape, first = _shape(t), _pointer(t)
    if 0 in shape:
        return 0, 0
    last = sum((n - 1) * step for n, step in zip(shape, _stride(t)))
    return first, first + (last + 1) * _size(t)


def meet(a, b):
    """Have two such ranges an address in common?"""
    return max(a[0], b[0]) < min(a[1], b[1])


def _address(t, number):
    """Of the element with this number in order."""
    at = 0
    for n, step in zip(reversed(t.shape), reversed(t.stride())):
        at += number % n * step
        number //= n
    return _pointer(t) + at * t.element_size()


def _holds(t, address):
    """Does an element of t begin in these bytes? Exact where t does not overlap itself."""
    left = (address - _pointer(t)) // t.element_size()
    for step, n in sorted(((s, n) for s, n in zip(t.stride(), t.shape) if s > 0), reverse=True):
        left -= min(n - 1, left // step) * step if left > 0 else 0
    return left == 0


def shares(a, b):
    """A few elements of each are looked for in the other."""
    if a.device != b.device or not meet(reach(a), reach(b)):
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
