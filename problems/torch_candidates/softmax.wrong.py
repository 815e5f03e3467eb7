"""Wrong: the denominator leaves out what does not fill a block of 32 columns."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        e = torch.exp(x - x.amax(dim=-1, keepdim=True))
        whole = x.shape[-1] // 32 * 32
        return e / e[..., :whole].sum(dim=-1, keepdim=True)
