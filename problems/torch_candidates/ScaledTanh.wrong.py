"""Wrong: clamps where the reference bends."""

import torch
import torch.nn as nn


class ScaledTanhNew(nn.Module):
    def __init__(self, limit=1.5):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        return torch.clamp(x, -self.limit, self.limit)
