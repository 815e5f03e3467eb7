"""Maximum of 21x21 windows with stride 1 and padding 10, float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4
channels = 8
height = 256
width = 255


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(x, kernel_size=21, stride=1, padding=10)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return []
