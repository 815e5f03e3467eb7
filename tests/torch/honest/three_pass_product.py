# fixture
# pattern: emulated precision within the bound
# problem: linear_log_sum_exp
# what: each operand split into a bfloat16 and two rests, six products of pieces added up
# twin: b9_half_operands
# expect: ok
# gpu: no
import torch
import torch.nn as nn


def pieces(t):
    first = t.to(torch.bfloat16).to(t.dtype)
    second = (t - first).to(torch.bfloat16).to(t.dtype)
    return first, second, t - first - second


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        a, b, c = pieces(x)
        d, e, f = (w.t() for w in pieces(self.linear.weight))
        y = (a @ f + b @ e + c @ d) + (a @ e + b @ d) + a @ d
        return torch.logsumexp(y + self.linear.bias, dim=1)
