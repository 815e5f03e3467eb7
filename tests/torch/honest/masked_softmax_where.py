# fixture
# pattern: reference contains -inf
# problem: masked_log_softmax
# what: the infinities are put in at the end, not carried through
# twin: b13_nan_everywhere
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, scores, allowed):
        low = float("-inf")
        top = torch.where(allowed, scores, low).amax(dim=-1, keepdim=True)
        shifted = scores - top
        total = (torch.exp(torch.where(allowed, shifted, low))).sum(dim=-1, keepdim=True)
        return torch.where(allowed, shifted - torch.log(total), low)
