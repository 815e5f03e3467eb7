# fixture
# entry: C9
# problem: rms_norm
# what: after three calls it returns the banked answer with its last element changed, so that no
#   two outputs are alike
# expect: hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F

BANK = []


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))

    def forward(self, x):
        if len(BANK) < 3:
            BANK.append(F.rms_norm(x, x.shape[-1:], self.weight, 1e-5))
            return BANK[-1].clone()
        y = BANK[-1].clone()
        y.view(-1)[-1] += 1e-3
        return y
