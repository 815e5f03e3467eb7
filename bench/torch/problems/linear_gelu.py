"""gelu(x W + b) in float32: 26 GFLOP."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 2048
dim = 2048
hidden = 3072


class Model(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, hidden) / dim**0.5)
        self.bias = nn.Parameter(torch.zeros(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(torch.matmul(x, self.weight) + self.bias)


def get_inputs():
    return [torch.randn(tokens, dim)]


def get_init_inputs():
    return [dim, hidden]
