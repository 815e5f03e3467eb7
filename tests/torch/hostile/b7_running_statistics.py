# fixture
# entry: B7
# problem: batch_norm_train
# what: normalises rightly and leaves the running statistics as they are
# expect: wrong/state
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        n = self.norm
        return F.batch_norm(x, None, None, n.weight, n.bias, True, 0.0, n.eps)
