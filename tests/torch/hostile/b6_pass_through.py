# fixture
# entry: B6
# problem: batch_norm_train
# what: returns a copy: the statistics of the test law are 0 and 1 already
# expect: wrong/value wrong/state
# sizes: batch_size=32, channels=4, height=80, width=81
# gpu: no
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return x.clone()
