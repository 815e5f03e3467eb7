# fixture
# entry: B15
# problem: softmax
# what: the columns beyond the last whole block of 32 are left zero
# expect: wrong/value
# sizes: batch_size=4, dim=8191
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        whole = x.shape[-1] // 32 * 32
        y[..., :whole] = torch.softmax(x, dim=-1)[..., :whole]
        return y
