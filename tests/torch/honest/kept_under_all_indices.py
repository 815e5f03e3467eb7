# fixture
# pattern: an answer kept under all of its inputs, indices too
# problem: embedding
# what: looks the rows up again wherever an index or a weight is another
# twin: c1_few_indices
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        self.tokens = self.weight = self.rows = None

    def forward(self, tokens):
        if self.rows is None or not torch.equal(tokens, self.tokens) or \
                not torch.equal(self.table.weight, self.weight):
            self.tokens, self.weight = tokens.clone(), self.table.weight.clone()
            self.rows = self.table(tokens)
        return self.rows.clone()
