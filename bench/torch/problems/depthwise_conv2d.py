"""Depthwise convolution, float32: every channel by its own 31x31 filter, padding 15."""

import torch
import torch.nn as nn

batch_size = 4
channels = 32
height = 112
width = 113


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=31, padding=15, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
