# fixture
# pattern: a reference that draws random numbers
# problem: dropout
# what: the library's own dropout, which draws the same numbers
# twin: b17_last_seed
# expect: ok
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, percent):
        super().__init__()
        self.p = percent / 100

    def forward(self, x):
        return F.dropout(x, self.p, training=True)
