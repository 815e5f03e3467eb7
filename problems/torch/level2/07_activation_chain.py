"""A chain of float32 activations: scale and shift by column, GELU, clamp to [-0.1, 2], times
sigmoid of the input."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4096
dim = 4095


class Model(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))
        self.shift = nn.Parameter(torch.randn(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.gelu(x * self.scale + self.shift)
        return torch.clamp(y, -0.1, 2.0) * torch.sigmoid(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim]
