# fixture
# pattern: answers that are views of one buffer of its own
# problem: row_stats
# what: both answers in one allocation
# twin: b11_writes_its_neighbour
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        both = torch.empty((2, x.shape[0]), dtype=x.dtype, device=x.device)
        var, mean = torch.var_mean(x, dim=1, correction=0)
        both[0], both[1] = mean, var
        return both[0], both[1]
