"""Wrong: the last 32 of the summed axis are left out, as by a loop that stops a tile early."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        k = max(a.shape[2] - 32, 1)
        return torch.bmm(a[:, :, :k], b[:, :k, :])
