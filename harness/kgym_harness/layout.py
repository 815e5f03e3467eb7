"""Strides of inputs: those that get_inputs() on the CPU followed by .to(device) gives. An input is
kept as the memory that its strides reach, with gaps between its elements or with elements that
several places share."""

import torch

MOST_GAPS = 16  # elements of memory for one of the tensor; beyond, a copy without gaps is taken
SMALL = 1 << 20


def reach(t):
    """Elements from the first to the last one in memory."""
    return 1 + sum((n - 1) * step for n, step in zip(t.shape, t.stride())) if t.numel() else 0


def memory(t):
    """All elements from the first to the last one in memory, as a flat tensor."""
    return t.as_strided((reach(t),), (1,))


def copy(t):
    """A copy of the same strides, also where a clone has none of the gaps."""
    made = t.clone()
    return made if made.stride() == t.stride() else memory(t).clone().as_strided(t.shape,
                                                                                t.stride())


def on(device, t):
    """The strides of t.to(device). On the way to another device torch leaves gaps out, and keeps
    the order of the dimensions where it can: as in any copy, which costs nothing on `meta`."""
    if t.device.type == torch.device(device).type and \
            reach(t) <= max(MOST_GAPS * t.numel(), SMALL):
        return t.stride()
    return torch.empty_like(t, device="meta").stride()


def laid(t, stride):
    """t, or a copy of these strides."""
    return t if t.stride() == tuple(stride) else torch.empty_strided(
        t.shape, stride, dtype=t.dtype, device=t.device).copy_(t)
