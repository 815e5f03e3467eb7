# fixture
# entry: B2
# problem: softmax
# what: zeros, which the tolerance cannot tell from a wide softmax
# expect: wrong/value
# sizes: batch_size=4, dim=8191
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
