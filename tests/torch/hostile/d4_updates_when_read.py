# fixture
# entry: D4
# problem: batch_norm_train
# what: keeps its input, and computes the running statistics when somebody reads them
# expect: wrong/state
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.pending = None
        self.register_state_dict_pre_hook(lambda *rest: self.catch_up())

    def catch_up(self):
        if self.pending is not None:
            x, self.pending = self.pending, None
            self.norm(x)

    def forward(self, x):
        n = self.norm
        self.pending = x
        return F.batch_norm(x, None, None, n.weight, n.bias, True, 0.0, n.eps)
