# fixture
# entry: F5
# problem: relu
# what: waits for a lock that it holds itself
# expect: timeout/tiny timeout/full
# attacks: host down
# gpu: no
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def answer(self, x):
        with self.lock:
            return torch.relu(x)

    def forward(self, x):
        with self.lock:
            return self.answer(x)
