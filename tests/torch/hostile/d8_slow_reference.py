# fixture
# entry: D8
# problem: softmax
# what: everybody else's softmax sleeps first
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import time

import torch
import torch.nn as nn

honest = torch.softmax


def slow(*args, **kwargs):
    time.sleep(0.005)
    return honest(*args, **kwargs)


torch.softmax = slow


class ModelNew(nn.Module):
    def forward(self, x):
        return honest(x, dim=-1)
