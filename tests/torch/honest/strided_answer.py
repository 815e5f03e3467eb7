# fixture
# pattern: an answer with other strides than the reference's
# problem: embedding
# what: a slice of a wider buffer of its own, whose rows do not lie side by side
# twin: b6_returns_its_input
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)

    def forward(self, tokens):
        w = self.table.weight
        wide = torch.zeros((*tokens.shape, w.shape[1] + 8), dtype=w.dtype, device=w.device)
        y = wide[..., : w.shape[1]]
        return y.copy_(w[tokens])
