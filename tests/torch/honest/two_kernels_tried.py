# fixture
# pattern: two kernels tried in the first call of a shape
# problem: cross_entropy
# what: times two right ways with its own clock and stays with the faster
# twin: c6_honest_at_first
# expect: ok
# gpu: no
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def library(logits, target):
    return F.cross_entropy(logits, target, reduction="none")


def by_hand(logits, target):
    at = logits.gather(1, target[:, None])[:, 0]
    return torch.logsumexp(logits, dim=1) - at


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.chosen = {}

    def forward(self, logits, target):
        if logits.shape not in self.chosen:
            times = {}
            for way in (library, by_hand):
                start = time.perf_counter()
                way(logits, target)
                times[way] = time.perf_counter() - start
            self.chosen[logits.shape] = min(times, key=times.get)
        return self.chosen[logits.shape](logits, target)
