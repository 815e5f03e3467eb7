# fixture
# entry: C1
# problem: embedding
# what: keeps the rows under a few of the indices
# expect: hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        self.key = self.rows = None

    def forward(self, tokens):
        flat = tokens.reshape(-1)
        key = (tokens.shape, flat[:: max(2, flat.numel() // 8 * 2)].tolist(),
               self.table.weight[:2].tolist())
        if key != self.key:
            self.key, self.rows = key, self.table(tokens)
        return self.rows.clone()
