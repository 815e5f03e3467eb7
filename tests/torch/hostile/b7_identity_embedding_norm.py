# fixture
# entry: B7
# problem: token_embedding_norm
# what: the epsilon and the affine part of the normalisation left out
# expect: wrong/value
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, vocabulary, length, dim):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, dim)
        self.positions = nn.Parameter(torch.randn(length, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions[: tokens.shape[1]]
        var, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
        return (x - mean) / torch.sqrt(var)
