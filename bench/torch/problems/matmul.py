"""Product of two float32 matrices, [m, k] by [k, n]: 26 GFLOP."""

import torch
import torch.nn as nn

m = 2048
k = 3072
n = 2048


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs():
    return []
