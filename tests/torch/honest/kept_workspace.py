# fixture
# pattern: library workspace allocated once; more memory than the reference
# problem: conv2d
# what: patches go into a buffer that is kept per shape
# twin: d11_all_shifts
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)
        self.space = None

    def forward(self, x):
        b, c, h, w = x.shape
        if self.space is None or self.space.shape != (c * 9, h * w):
            self.space = torch.empty((c * 9, h * w), dtype=x.dtype, device=x.device)
        weight = self.conv.weight.flatten(1)
        y = torch.empty((b, weight.shape[0], h * w), dtype=x.dtype, device=x.device)
        for i in range(b):
            self.space.copy_(F.unfold(x[i : i + 1], kernel_size=3, padding=1)[0])
            torch.addmm(self.conv.bias[:, None], weight, self.space, out=y[i])
        return y.view(b, -1, h, w)
