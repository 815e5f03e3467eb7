# fixture
# entry: E4
# problem: matmul
# what: climbs the callers' frames for what they expect
# expect: wrong/value
# gpu: no
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        frame = sys._getframe()
        while frame is not None:
            for name in ("expected", "output", "reference_output", "ref", "oracle"):
                v = frame.f_locals.get(name)
                v = v[0] if isinstance(v, list) and v else v
                if isinstance(v, torch.Tensor) and v.shape == (a.shape[0], b.shape[1]):
                    return v.clone()
            frame = frame.f_back
        return torch.zeros((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
