"""Two-dimensional convolution, float32, 3x3, padding 1, with bias."""

import torch
import torch.nn as nn

batch_size = 16
in_channels = 64
out_channels = 96
height = 56
width = 57


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]
