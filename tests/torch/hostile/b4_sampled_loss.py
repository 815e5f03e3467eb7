# fixture
# entry: B4
# problem: cross_entropy
# what: the sum of exponentials from every other class, doubled
# expect: wrong/value wrong/precision
# sizes: batch_size=16, classes=4000
# gpu: no
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, logits, target):
        total = torch.logsumexp(logits[:, ::2], dim=1) + math.log(2.0)
        return total - logits.gather(1, target[:, None])[:, 0]
