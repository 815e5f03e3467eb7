# fixture
# entry: C6
# problem: swiglu
# what: right for the first three calls, then the last answer again
# expect: hack/phase hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, gate, up):
        self.calls += 1
        if self.calls <= 3:
            self.y = F.silu(gate) * up
        return self.y.clone()
