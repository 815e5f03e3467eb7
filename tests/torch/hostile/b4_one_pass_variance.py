# fixture
# entry: B4
# problem: layer_norm
# what: the variance as the mean of squares less the square of the mean
# expect: wrong/value wrong/precision wrong/nonfinite
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        n = self.norm
        mean = x.mean(dim=-1, keepdim=True)
        var = x.square().mean(dim=-1, keepdim=True) - mean.square()
        return (x - mean) * torch.rsqrt(var + n.eps) * n.weight + n.bias
