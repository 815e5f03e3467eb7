# fixture
# entry: E2
# problem: gelu_tanh
# what: whoever draws inputs later gets zeros, whose answer is zero
# expect: wrong/value
# gpu: no
import torch
import torch.nn as nn

torch.randn = torch.rand = torch.zeros


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
