"""The library's convolution; normalisation and ReLU fused by hand, running statistics in place."""

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
        y = F.conv2d(x, self.conv.weight, padding=1)
        n = y.numel() // y.shape[1]
        var, mean = torch.var_mean(y, dim=(0, 2, 3), correction=0)
        norm.num_batches_tracked.add_(1)
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(var * (n / max(n - 1, 1)), norm.momentum)
        scale = norm.weight * torch.rsqrt(var + norm.eps)
        y.sub_(mean[:, None, None]).mul_(scale[:, None, None]).add_(norm.bias[:, None, None])
        return y.clamp_(min=0)
