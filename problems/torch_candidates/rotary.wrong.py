"""Wrong: turns neighbours, not the two halves."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
        return self.turn(q, cos, sin), self.turn(k, cos, sin)

    @staticmethod
    def turn(x, cos, sin):
        first, second = x[..., 0::2], x[..., 1::2]
        y = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
        return y.flatten(-2)
