# fixture
# entry: B16
# problem: matmul
# what: redefines get_inputs as zeros and returns zeros
# expect: wrong/value
# gpu: no
import torch
import torch.nn as nn


def get_inputs():
    return [torch.zeros(64, 64), torch.zeros(64, 64)]


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.zeros((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
