"""silu(x G^T) * (x U^T) in bfloat16: the gated half of a feed-forward layer, 412 GFLOP."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 4096
dim = 6144
hidden = 4096


class Model(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False, dtype=torch.bfloat16)
        self.up = nn.Linear(dim, hidden, bias=False, dtype=torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.gate(x)) * self.up(x)


def get_inputs():
    return [torch.randn(tokens, dim).to(torch.bfloat16)]


def get_init_inputs():
    return [dim, hidden]
