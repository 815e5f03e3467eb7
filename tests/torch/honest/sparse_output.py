# fixture
# pattern: truly sparse or zero output
# problem: relu
# what: works on the positive elements only, of which a law may have none
# twin: b2_zeros
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        at = torch.nonzero(x.view(-1) > 0).squeeze(1)
        y.view(-1)[at] = x.view(-1)[at]
        return torch.where(x.isnan(), x, y)
