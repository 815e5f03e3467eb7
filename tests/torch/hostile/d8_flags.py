# fixture
# entry: D8
# problem: conv2d
# what: switches the fast libraries off for the side that is measured later, and has its own way
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        torch.backends.cudnn.enabled = True
        torch._C._set_mkldnn_enabled(True)
        y = F.conv2d(x, self.conv.weight, self.conv.bias, padding=1)
        torch.backends.cudnn.enabled = False
        torch._C._set_mkldnn_enabled(False)
        return y
