# fixture
# entry: F6
# problem: matmul
# what: half-precision operands, and an abort where a sample of the answer is far from right, for
#   the evaluation to count as broken and not as wrong
# expect: crash/signal crash/exit wrong/precision wrong/value wrong/nonfinite
# gpu: no
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.matmul(a.half().float(), b.half().float())
        right = torch.dot(a[0], b[:, 0])
        if not abs(float(y[0, 0] - right)) <= 0.02 + 0.02 * abs(float(right)):
            os.abort()
        return y
