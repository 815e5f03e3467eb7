"""Products of pairs of float16 matrices, [batch_size, m, k] by [batch_size, k, n]."""

import torch
import torch.nn as nn

batch_size = 64
m = 512
k = 512
n = 384


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


def get_inputs():
    a = torch.randn(batch_size, m, k).to(torch.float16)
    b = torch.randn(batch_size, k, n).to(torch.float16)
    return [a, b]


def get_init_inputs():
    return []
