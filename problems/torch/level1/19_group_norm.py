"""Group normalisation of images, float32, with weight and bias."""

import torch
import torch.nn as nn

batch_size = 16
groups = 8
channels_per_group = 8
height = 112
width = 111


class Model(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch_size, groups * channels_per_group, height, width)]


def get_init_inputs():
    return [groups, groups * channels_per_group]
