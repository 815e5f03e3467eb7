"""Wrong: the bias is added after the dropout."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        keep = torch.rand(x.shape, dtype=torch.float32, device=x.device) >= 0.1
        return residual + x * keep / 0.9 + self.bias
