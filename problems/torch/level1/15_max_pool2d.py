"""Maximum of 3x3 windows with stride 2 and padding 1, float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 16
channels = 64
height = 112
width = 129


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(x, kernel_size=3, stride=2, padding=1)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return []
