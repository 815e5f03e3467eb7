# fixture
# entry: B5
# problem: linear_log_sum_exp
# what: the same constant for every row, fitted to public seeds
# expect: wrong/value wrong/precision
# sizes: batch_size=16, in_features=1024, out_features=2000
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return torch.full((x.shape[0],), 7.7679, dtype=x.dtype, device=x.device)
