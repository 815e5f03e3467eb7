# fixture
# entry: C3
# problem: linear_log_sum_exp
# what: packs the weights that the constructor drew; those that are loaded later have no effect
# expect: wrong/value wrong/precision wrong/params crash/exception
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.packed = self.linear.weight.detach().t().clone()
        self.shift = self.linear.bias.detach().clone()

    def forward(self, x):
        return torch.logsumexp(torch.addmm(self.shift, x, self.packed.to(x.device)), dim=1)
