# fixture
# entry: E3
# problem: layer_norm
# what: a global hook turns every module's answer into zeros, the reference's included
# expect: wrong/value
# gpu: no
import torch
import torch.nn as nn


def nothing(module, inputs, output):
    return output * 0


nn.modules.module.register_module_forward_hook(nothing)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return torch.zeros_like(x)
