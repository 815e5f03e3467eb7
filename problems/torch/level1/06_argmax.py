"""Index of the greatest element of each row of a float32 matrix, int64; the first where equal."""

import torch
import torch.nn as nn

batch_size = 2048
dim = 8000


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
