"""Wrong: the answer is right, the running statistics stay as they were."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = self.norm
        return F.batch_norm(x, None, None, norm.weight, norm.bias, True, 0.0, norm.eps)
