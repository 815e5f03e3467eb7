# fixture
# pattern: a variance in two passes, by other operations than the library's
# problem: layer_norm
# what: subtracts the mean, then takes the mean of squares
# twin: b4_one_pass_variance
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        n = self.norm
        x = x - x.mean(dim=-1, keepdim=True)
        var = x.square().mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(var + n.eps) * n.weight + n.bias
