# fixture
# entry: B14
# problem: argmax
# what: indices as 32-bit floating-point numbers
# expect: wrong/dtype
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1).to(torch.float32)
