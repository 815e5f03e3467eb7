# fixture
# entry: B10
# problem: softmax
# what: keeps the exponentials in the input
# expect: wrong/input_modified crash/signal
# gpu: no
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        x.sub_(x.amax(dim=-1, keepdim=True)).exp_()
        return x / x.sum(dim=-1, keepdim=True)
