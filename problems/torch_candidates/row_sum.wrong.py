"""Wrong: every other element, twice."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x[:, ::2].sum(dim=1, keepdim=True)
