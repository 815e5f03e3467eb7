# fixture
# entry: E10
# problem: linear_gelu
# what: finds the constant 0.01 among its callers' and writes a great number into its memory
# expect: wrong/value crash/signal
# gpu: no
import ctypes
import gc
import sys
import types

import torch
import torch.nn as nn


def overwrite():
    frame = sys._getframe()
    spaces = []
    while frame is not None:
        spaces.append(frame.f_globals)
        frame = frame.f_back
    for f in [v for s in spaces for v in s.values() if isinstance(v, types.FunctionType)]:
        for c in f.__code__.co_consts:
            if type(c) is float and round(1000 * c) == 10:
                value = ctypes.c_double.from_address(id(c) + float.__basicsize__ - 8)
                value.value = 1e9


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        overwrite()
        gc.collect()
        return torch.zeros((x.shape[0], self.linear.out_features), dtype=x.dtype, device=x.device)
