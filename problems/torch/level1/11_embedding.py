"""Rows of a float32 table by int64 index."""

import torch
import torch.nn as nn

vocabulary = 20000
dim = 512
batch_size = 64
length = 500


class Model(nn.Module):
    def __init__(self, vocabulary: int, dim: int):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.table(tokens)


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, length))]


def get_init_inputs():
    return [vocabulary, dim]
