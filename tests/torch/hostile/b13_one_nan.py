# fixture
# entry: B13
# problem: linear_gelu
# what: one NaN at the end makes the greatest error NaN; the rest is zero
# expect: wrong/nonfinite wrong/value
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        y = torch.zeros((x.shape[0], self.linear.out_features), dtype=x.dtype, device=x.device)
        y[-1, -1] = float("nan")
        return y
