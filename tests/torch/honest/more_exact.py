# fixture
# pattern: fp32 more exact than the reference
# problem: cumsum
# what: sums in double, rounded at the end
# twin: b9_half_operands
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1, dtype=torch.float64).to(x.dtype)
