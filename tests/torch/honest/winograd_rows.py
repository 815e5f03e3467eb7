# fixture
# pattern: algebraic rewriting: Winograd
# problem: depthwise_conv2d
# what: F(2, 3) along each row: four products for two outputs, summed over three rows
# twin: b9_half_operands
# expect: ok
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
        h, w = x.shape[2:]
        x = F.pad(x, (1, 2, 1, 1))
        n = (w + 1) // 2
        y = torch.zeros((*x.shape[:2], h, n, 2), dtype=x.dtype, device=x.device)
        for r in range(3):
            d0, d1, d2, d3 = (x[:, :, r : r + h, i : i + 2 * n : 2][..., :n] for i in range(4))
            a, b, c = (self.conv.weight[:, 0, r, i].view(1, -1, 1, 1) for i in range(3))
            m1 = (d0 - d2) * a
            m2 = (d1 + d2) * ((a + b + c) / 2)
            m3 = (d2 - d1) * ((a - b + c) / 2)
            m4 = (d1 - d3) * c
            y[..., 0] += m1 + m2 + m3
            y[..., 1] += m2 - m3 - m4
        return y.flatten(-2)[..., :w].contiguous()
