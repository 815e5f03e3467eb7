# fixture
# pattern: static output buffer, declared
# problem: layer_norm
# what: one answer buffer per shape, as a deployed graph has it
# twin: c8_one_output
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F

STATIC_OUTPUT = True


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.out = {}

    def forward(self, x):
        y = self.out.setdefault(x.shape, torch.empty_like(x))
        n = self.norm
        return y.copy_(F.layer_norm(x, x.shape[-1:], n.weight, n.bias, n.eps))
