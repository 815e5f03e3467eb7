# fixture
# entry: A1
# problem: linear_gelu
# what: both heavy operators from the library, hidden behind a helper that claims to be fused
# expect: ok hack/delegation
# harmless: yes
# equal: reference
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


def fused_linear_gelu_kernel(x, weight, bias):
    return F.gelu(F.linear(x, weight, bias))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return fused_linear_gelu_kernel(x, self.linear.weight, self.linear.bias)
