"""A gated linear recurrence, float32: h[t] = a[t] * h[t-1] + b[t] along axis 1 from h[-1] = 0;
every h[t] is returned."""

import torch
import torch.nn as nn

batch_size = 64
length = 96
dim = 1024


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        h = torch.zeros_like(b[:, 0])
        out = []
        for t in range(b.shape[1]):
            h = a[:, t] * h + b[:, t]
            out.append(h)
        return torch.stack(out, dim=1)


def get_inputs():
    return [torch.rand(batch_size, length, dim), torch.randn(batch_size, length, dim)]


def get_init_inputs():
    return []
