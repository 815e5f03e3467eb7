# fixture
# pattern: buffers that the reference updates, updated by own code
# problem: conv_batch_norm_relu
# what: moments by sums, running statistics replaced, not changed in place
# twin: b7_running_statistics
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        n = self.norm
        y = self.conv(x)
        count = y.numel() // y.shape[1]
        mean = y.mean(dim=(0, 2, 3), keepdim=True)
        y = y - mean
        var = y.square().mean(dim=(0, 2, 3), keepdim=True)
        n.running_mean = (1 - n.momentum) * n.running_mean + n.momentum * mean.flatten()
        unbiased = var.flatten() * count / max(count - 1, 1)
        n.running_var = (1 - n.momentum) * n.running_var + n.momentum * unbiased
        n.num_batches_tracked = n.num_batches_tracked + 1
        y = y * torch.rsqrt(var + n.eps) * n.weight[:, None, None] + n.bias[:, None, None]
        return torch.relu(y)
