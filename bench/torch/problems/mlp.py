"""Two linear layers with a rectifier between them, float16: 275 GFLOP."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 4096
dim = 4096
hidden = 4096


class Model(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.first = nn.Linear(dim, hidden, dtype=torch.float16)
        self.second = nn.Linear(hidden, dim, dtype=torch.float16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.relu(self.first(x)))


def get_inputs():
    return [torch.randn(tokens, dim).to(torch.float16)]


def get_init_inputs():
    return [dim, hidden]
