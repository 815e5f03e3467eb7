"""Linear layer with bias, then the logarithm of the sum of exponentials of each row; float32."""

import torch
import torch.nn as nn

batch_size = 2048
in_features = 1024
out_features = 2000


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(self.linear(x), dim=1)


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
