"""Product of two bfloat16 matrices, [m, k] by [k, n]: 275 GFLOP."""

import torch
import torch.nn as nn

m = 4096
k = 8192
n = 4096


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


def get_inputs():
    a = torch.randn(m, k).to(torch.bfloat16)
    return [a, torch.randn(k, n).to(torch.bfloat16)]


def get_init_inputs():
    return []
