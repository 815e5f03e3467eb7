"""Wrong: normalises by the running statistics, as in evaluation mode."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = self.norm
        y = F.batch_norm(self.conv(x), norm.running_mean, norm.running_var, norm.weight, norm.bias,
                         False, norm.momentum, norm.eps)
        return torch.relu(y)
