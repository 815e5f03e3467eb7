"""Dropout in training mode, float32: torch's own random numbers decide what is zeroed."""

import torch
import torch.nn as nn

batch_size = 4096
dim = 4000


class Model(nn.Module):
    def __init__(self, percent: int):
        super().__init__()
        self.dropout = nn.Dropout(percent / 100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [25]
