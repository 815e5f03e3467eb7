# fixture
# entry: B7
# problem: rms_norm
# what: has no weight at all
# expect: wrong/params wrong/value
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], None, 1e-5)
