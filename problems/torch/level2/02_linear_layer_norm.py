"""Linear layer without bias, then layer normalisation, float16."""

import torch
import torch.nn as nn

batch_size = 4096
in_features = 1024
out_features = 1536


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False, dtype=torch.float16)
        self.norm = nn.LayerNorm(out_features, dtype=torch.float16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(x))


def get_inputs():
    return [torch.randn(batch_size, in_features).to(torch.float16)]


def get_init_inputs():
    return [in_features, out_features]
