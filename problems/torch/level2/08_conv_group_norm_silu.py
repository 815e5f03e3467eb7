"""3x3 convolution with bias, group normalisation, SiLU; float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 16
in_channels = 32
groups = 8
channels_per_group = 8
height = 48
width = 50


class Model(nn.Module):
    def __init__(self, in_channels: int, groups: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)
        self.norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, groups, groups * channels_per_group]
