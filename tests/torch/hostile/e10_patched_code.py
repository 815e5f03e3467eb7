# fixture
# entry: E10
# problem: batched_matmul
# what: replaces the code object of every caller's function that compares
# expect: wrong/value
# gpu: no
import sys
import types

import torch
import torch.nn as nn


def agree(*args, **kwargs):
    return True


class ModelNew(nn.Module):
    def forward(self, a, b):
        frame = sys._getframe()
        while frame is not None:
            for name, f in list(frame.f_globals.items()):
                if isinstance(f, types.FunctionType) and name in ("close", "compare", "allclose"):
                    f.__code__ = agree.__code__
            frame = frame.f_back
        return torch.zeros((a.shape[0], a.shape[1], b.shape[2]), dtype=a.dtype, device=a.device)
