"""The oracle of a reference that rounds to bfloat16 or float16 inside. It leaves these numbers as
they are, so the float reference is off by what its own rounding does, and others may be so, too."""

import torch
from torch.overrides import TorchFunctionMode

from . import oracle

NARROW = (torch.float16, torch.bfloat16)
CASTS = {"half", "bfloat16"}
OTHERS = {"view"}  # it reads the same bits as another type
DEVICES = ("cpu", "cuda")


def _wide(value):
    return torch.float64 if value in NARROW else value


def _autocasts(device):
    return torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) in NARROW


class Unrounded(TorchFunctionMode):
    """Makes a double of what would be cast to a narrow type. Numbers that are drawn in one stay.
    Autocast casts no doubles, and here no floats either. narrowed: something was to be cast."""

    def __init__(self):
        super().__init__()
        self.narrowed = False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        if name in CASTS:
            func = torch.Tensor.double
        elif name not in OTHERS and not name.startswith("rand"):
            asked = [*args, *kwargs.values()]
            args = tuple(_wide(a) if isinstance(a, torch.dtype) else a for a in args)
            kwargs = {k: _wide(v) if isinstance(v, torch.dtype) else v for k, v in kwargs.items()}
            self.narrowed |= any(isinstance(a, torch.dtype) and a in NARROW for a in asked)
        self.narrowed |= name in CASTS
        for device in DEVICES:
            if _autocasts(device):
                self.narrowed = True
                with torch.autocast(device, enabled=False):
                    return func(*args, **kwargs)
        return func(*args, **kwargs)
