# fixture
# pattern: algebraic rewriting: a scan by doubling
# problem: gated_scan
# what: pairs (a, b) are combined over distances 1, 2, 4, ... along the time axis
# twin: b4_half_of_the_product
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.clone(), b.clone()
        step = 1
        while step < b.shape[1]:
            b[:, step:] = b[:, step:] + a[:, step:] * b[:, :-step].clone()
            a[:, step:] = a[:, step:] * a[:, :-step].clone()
            step *= 2
        return b
