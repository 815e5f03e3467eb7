"""Batch normalisation of images in training mode, float32: statistics of the batch, and running
statistics that each call moves by the momentum."""

import torch
import torch.nn as nn

batch_size = 32
channels = 64
height = 80
width = 81


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
