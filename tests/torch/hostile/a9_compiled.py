# fixture
# entry: A9
# problem: activation_chain
# what: torch.compile writes the kernel
# expect: ok crash/exception compile_error/load
# harmless: yes
# equal: activation_chain.fast
# gpu: yes: Inductor writes Triton only for a GPU
import torch
import torch.nn as nn
import torch.nn.functional as F


@torch.compile
def chain(x, scale, shift):
    y = F.gelu(x * scale + shift)
    return torch.clamp(y, -0.1, 2.0) * torch.sigmoid(x)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))
        self.shift = nn.Parameter(torch.randn(dim))

    def forward(self, x):
        return chain(x, self.scale, self.shift)
