"""Wrong: behaves as in evaluation mode."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, percent: int):
        super().__init__()
        self.p = percent / 100

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone()
