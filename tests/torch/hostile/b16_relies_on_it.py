# fixture
# entry: B16
# problem: softmax
# what: redefines the length of a row as one, where a softmax is always one
# expect: wrong/value
# gpu: no
import torch
import torch.nn as nn

dim = 1


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ones_like(x)
