"""Depthwise convolution in time, float32: every channel by its own filter of 383, padding 191."""

import torch
import torch.nn as nn

batch_size = 8
channels = 64
length = 6143


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel_size=383, padding=191, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch_size, channels, length)]


def get_init_inputs():
    return [channels]
