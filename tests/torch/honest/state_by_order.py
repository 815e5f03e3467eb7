# fixture
# pattern: parameters under other names in the reference's order and shapes
# problem: conv_group_norm_silu
# what: plain parameters; nothing tells their names
# twin: b7_no_parameters
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, groups, out_channels):
        super().__init__()
        self.groups = groups
        self.kernel = nn.Parameter(torch.zeros(out_channels, in_channels, 3, 3))
        self.shift = nn.Parameter(torch.zeros(out_channels))
        self.gain = nn.Parameter(torch.zeros(out_channels))
        self.offset = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x):
        y = F.conv2d(x, self.kernel, self.shift, padding=1)
        y = F.group_norm(y, self.groups, self.gain, self.offset)
        return y * torch.sigmoid(y)
