"""Plain PyTorch: statistics in one call, one fused multiply-add, running statistics in place."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = self.norm
        n = x.numel() // x.shape[1]
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        norm.num_batches_tracked.add_(1)
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(var * (n / max(n - 1, 1)), norm.momentum)
        scale = norm.weight * torch.rsqrt(var + norm.eps)
        shift = norm.bias - mean * scale
        return torch.addcmul(shift[:, None, None], x, scale[:, None, None])
