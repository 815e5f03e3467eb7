"""Bilinear enlargement of images to twice their height and width, float32, corners not aligned."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 16
channels = 48
height = 65
width = 72


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return []
