# fixture
# pattern: in-place operations on own temporaries
# problem: residual_rms_norm
# what: everything after the sum happens in one buffer of its own
# twin: b10_in_place
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))

    def forward(self, x, residual):
        total = x + residual
        wide = total.float()
        wide.mul_(torch.rsqrt(wide.square().mean(dim=-1, keepdim=True).add_(1e-5)))
        return wide.mul_(self.weight.float()).to(x.dtype), total
