"""Wrong: the product goes through floating point and loses its low bits."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        product = (x.double() * 2654435761.0).long()
        return ((product + y) ^ (x >> 7)) & 0x7FFFFFFF
