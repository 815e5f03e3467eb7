# fixture
# pattern: weight packing in prepare()
# problem: linear_gelu
# what: the transposed weight is made once the state is loaded
# twin: c3_packed_in_constructor
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.packed = None

    def prepare(self):
        self.packed = self.linear.weight.detach().t().contiguous()

    def forward(self, x):
        if self.packed is None:
            self.prepare()
        return F.gelu(torch.addmm(self.linear.bias, x, self.packed))
