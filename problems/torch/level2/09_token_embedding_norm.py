"""Token embedding (int64) plus position embedding, then layer normalisation; float32."""

import torch
import torch.nn as nn

vocabulary = 16000
dim = 512
batch_size = 64
length = 300


class Model(nn.Module):
    def __init__(self, vocabulary: int, length: int, dim: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, dim)
        self.positions = nn.Parameter(torch.randn(length, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.norm(self.tokens(tokens) + self.positions[: tokens.shape[1]])


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, length))]


def get_init_inputs():
    return [vocabulary, length, dim]
