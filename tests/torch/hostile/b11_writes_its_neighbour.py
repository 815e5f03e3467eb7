# fixture
# entry: B11
# problem: row_stats
# what: one allocation for both answers; the second is written past its end and cut off
# expect: ok wrong/out_of_bounds
# harmless: yes
# equal: row_stats.fast
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.shape[0]
        both = torch.empty(2 * rows + 64, dtype=x.dtype, device=x.device)
        var, mean = torch.var_mean(x, dim=1, correction=0)
        both[:rows] = mean
        both[rows:] = 1.0
        both[rows : 2 * rows] = var
        return both[:rows], both[rows : 2 * rows]
