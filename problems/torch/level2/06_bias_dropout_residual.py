"""residual + dropout(x + bias), float32: uniform numbers below 0.1 zero an element, the rest is
divided by 0.9."""

import torch
import torch.nn as nn

batch_size = 4096
dim = 2048


class Model(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        keep = torch.rand(x.shape, dtype=torch.float32, device=x.device) >= 0.1
        return residual + (x + self.bias) * keep / 0.9


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim]
