# fixture
# entry: B9
# problem: softmax
# what: computed in bfloat16, returned as float32
# expect: wrong/precision wrong/value
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.to(torch.bfloat16), dim=-1).to(x.dtype)
