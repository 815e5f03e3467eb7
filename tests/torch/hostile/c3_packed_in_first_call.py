# fixture
# entry: C3
# problem: linear_gelu
# what: packs the weights in the first call and never looks at them again
# expect: wrong/state wrong/nondeterministic
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.linear.weight.detach().t().contiguous()
        return F.gelu(torch.addmm(self.linear.bias, x, self.packed))
