"""Plain PyTorch: pooling before ReLU (the maximum commutes with it), a quarter of the work."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels: int, classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, channels, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1)
        self.head = nn.Linear(2 * channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.conv1(x), 2).clamp_(min=0)
        x = F.max_pool2d(self.conv2(x), 2).clamp_(min=0)
        return torch.addmm(self.head.bias, x.mean(dim=(2, 3)), self.head.weight.t())
