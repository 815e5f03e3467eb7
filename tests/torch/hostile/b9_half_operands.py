# fixture
# entry: B9
# problem: matmul
# what: operands rounded to half precision, as tensor cores take them
# expect: wrong/precision wrong/value wrong/nonfinite
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.half().float(), b.half().float())
