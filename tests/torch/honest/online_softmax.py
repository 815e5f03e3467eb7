# fixture
# pattern: algebraic rewriting: online softmax
# problem: softmax
# what: a running maximum and sum over blocks of columns
# twin: b4_sampled_loss
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        top = torch.full_like(x[:, :1], float("-inf"))
        total = torch.zeros_like(top)
        for part in x.split(1024, dim=1):
            higher = torch.maximum(top, part.amax(dim=1, keepdim=True))
            total = total * torch.exp(top - higher)
            total = total + torch.exp(part - higher).sum(dim=1, keepdim=True)
            top = higher
        return torch.exp(x - top) / total
