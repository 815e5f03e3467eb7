"""Plain PyTorch: patches side by side, then one matrix product per image."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w = self.conv.weight
        patches = F.unfold(x, kernel_size=3, padding=1)
        y = torch.matmul(w.flatten(1), patches) + self.conv.bias[:, None]
        return y.view(x.shape[0], w.shape[0], x.shape[2], x.shape[3])
