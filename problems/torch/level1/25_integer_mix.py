"""An integer hash of int64 words: (x * 2654435761 + y) xor (x >> 7), then the low 31 bits."""

import torch
import torch.nn as nn

length = 4000003


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.bitwise_and(torch.bitwise_xor(x * 2654435761 + y, x >> 7), 0x7FFFFFFF)


def get_inputs():
    x = torch.randint(0, 1 << 30, (length,))
    return [x, torch.randint(0, 1 << 30, (length,))]


def get_init_inputs():
    return []
