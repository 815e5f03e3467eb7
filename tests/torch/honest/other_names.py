# fixture
# pattern: parameters under other names with load_reference_state
# problem: token_embedding_norm
# what: one table for tokens and positions, gain and offset by its own names
# twin: b7_no_parameters
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, vocabulary, length, dim):
        super().__init__()
        self.vocabulary = vocabulary
        self.table = nn.Parameter(torch.zeros(vocabulary + length, dim))
        self.gain = nn.Parameter(torch.ones(dim))
        self.offset = nn.Parameter(torch.zeros(dim))

    def load_reference_state(self, state):
        with torch.no_grad():
            self.table[: self.vocabulary] = state["tokens.weight"]
            self.table[self.vocabulary :] = state["positions"]
            self.gain.copy_(state["norm.weight"])
            self.offset.copy_(state["norm.bias"])

    def forward(self, tokens):
        at = torch.arange(self.vocabulary, self.vocabulary + tokens.shape[1], device=tokens.device)
        x = F.embedding(tokens, self.table) + F.embedding(at, self.table)
        return F.layer_norm(x, x.shape[-1:], self.gain, self.offset, 1e-5)
