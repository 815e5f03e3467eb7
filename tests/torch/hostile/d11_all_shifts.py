# fixture
# entry: D11
# problem: depthwise_conv2d
# what: memory for time: all nine shifted copies of the input at once
# expect: ok out_of_memory/host out_of_memory/device
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels,
                              bias=False)

    def forward(self, x):
        b, c, h, w = x.shape
        shifts = F.unfold(x, kernel_size=3, padding=1).view(b, c, 9, h * w)
        return (shifts * self.conv.weight.view(1, c, 9, 1)).sum(dim=2).view(b, c, h, w)
