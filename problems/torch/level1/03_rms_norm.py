"""Root-mean-square normalisation over the last axis, bfloat16, with a weight."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4096
dim = 4096


class Model(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


def get_inputs():
    return [torch.randn(batch_size, dim).to(torch.bfloat16)]


def get_init_inputs():
    return [dim]
