"""Wrong: indices counted from one."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, vocabulary: int, dim: int):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.table.weight[(tokens - 1).clamp(min=0)]
