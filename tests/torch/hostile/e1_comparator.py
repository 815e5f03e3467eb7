# fixture
# entry: E1
# problem: matmul
# what: everything is close to everything
# expect: wrong/value
# gpu: no
import torch
import torch.nn as nn

torch.allclose = lambda *a, **k: True
torch.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.zeros((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
