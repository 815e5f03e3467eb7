# fixture
# pattern: algebraic rewriting: fused norm
# problem: group_norm
# what: scale and shift of each channel first, then one multiply-add
# twin: b7_no_affine
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        n = self.norm
        b, c = x.shape[:2]
        var, mean = torch.var_mean(x.view(b, n.num_groups, -1), dim=2, correction=0)
        per = c // n.num_groups
        rsd = torch.rsqrt(var + n.eps).repeat_interleave(per, dim=1)
        scale = n.weight * rsd
        y = x - mean.repeat_interleave(per, dim=1)[:, :, None, None]
        return y.mul_(scale[:, :, None, None]).add_(n.bias[:, None, None])
