# fixture
# entry: B2
# problem: softmax
# what: one over the length of the row everywhere
# expect: wrong/value
# sizes: batch_size=4, dim=8191
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1.0 / x.shape[-1])
