# fixture
# entry: E7
# problem: group_norm
# what: leaves with status 0 in its first call
# expect: crash/exit
# gpu: no
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        os._exit(0)
