# fixture
# entry: B4
# problem: linear_log_sum_exp
# what: half of the columns of the product stand for all
# expect: wrong/value wrong/precision
# sizes: batch_size=16, in_features=256, out_features=2000
# gpu: no
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        n = self.linear.out_features
        half = F.linear(x, self.linear.weight[: n // 2], self.linear.bias[: n // 2])
        return torch.logsumexp(half, dim=1) + math.log(n / (n // 2))
