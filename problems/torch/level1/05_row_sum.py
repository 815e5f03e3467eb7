"""Sum of each row of a float32 matrix; the row's axis stays with length 1."""

import torch
import torch.nn as nn

batch_size = 1023
dim = 16385


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
