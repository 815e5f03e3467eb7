# fixture
# pattern: kernel near the floor: a plain copy
# problem: transpose
# what: writes through a transposed view of its own output
# twin: d6_nothing_when_small
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((x.shape[1], x.shape[0]), dtype=x.dtype, device=x.device)
        y.t().copy_(x)
        return y
