"""Transpose of a float32 matrix as a contiguous tensor."""

import torch
import torch.nn as nn

rows = 4099
cols = 4000


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).contiguous()


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
