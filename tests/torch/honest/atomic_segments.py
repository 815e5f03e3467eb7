# fixture
# pattern: atomics, whose order varies
# problem: segment_sum
# what: scatter_add with an expanded index
# twin: b12_unlocked_sum
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x, group):
        y = torch.zeros(self.groups, x.shape[1], dtype=x.dtype, device=x.device)
        return y.scatter_add_(0, group[:, None].expand_as(x), x)
