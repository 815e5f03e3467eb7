# fixture
# entry: F5
# problem: swiglu
# what: a thread spins beside the answers, in the way of whoever is measured
# expect: ok hack/async crash/exception timeout/tiny timeout/full
# harmless: yes
# equal: reference
# unmeasured: not_trusted
# gpu: no
import threading

import torch.nn as nn
import torch.nn.functional as F


def spin():
    while True:
        pass


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        threading.Thread(target=spin, daemon=True).start()

    def forward(self, gate, up):
        return F.silu(gate) * up
