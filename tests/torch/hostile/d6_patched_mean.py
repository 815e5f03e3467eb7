# fixture
# entry: D6
# problem: row_stats
# what: means and medians of times are nothing
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import statistics

import torch
import torch.nn as nn

statistics.mean = statistics.fmean = statistics.median = lambda v: 1e-9
statistics.geometric_mean = lambda v: 100.0


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1), torch.var(x, dim=1, unbiased=False)
