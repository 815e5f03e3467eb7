"""Rotary position embedding of float32 queries and keys [batch, heads, length, head_dim]: the two
halves of the last axis are turned by the given cosines and sines [length, half]. A tuple."""

import torch
import torch.nn as nn

batch_size = 4
heads = 16
length = 1000
half = 32


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
        return self.turn(q, cos, sin), self.turn(k, cos, sin)

    @staticmethod
    def turn(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


def get_inputs():
    angle = torch.rand(length, half) * 6.2831853
    shape = (batch_size, heads, length, 2 * half)
    return [torch.randn(shape), torch.randn(shape), torch.cos(angle), torch.sin(angle)]


def get_init_inputs():
    return []
