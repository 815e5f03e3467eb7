# fixture
# entry: B6
# problem: group_norm
# what: returns the input itself
# expect: wrong/value wrong/alias
# sizes: batch_size=4, height=200, width=200
# gpu: no
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return x
