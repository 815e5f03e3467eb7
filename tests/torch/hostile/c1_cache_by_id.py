# fixture
# entry: C1
# problem: matmul
# what: keeps every answer under the identity of its inputs, which Python gives to new objects
#   again
# expect: ok hack/replay wrong/value wrong/nondeterministic
# harmless: yes
# equal: reference
# varies: inputs that lie elsewhere are new objects; timed calls have the same ones with new
#   values
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = {}

    def forward(self, a, b):
        key = id(a), id(b)
        if key not in self.held:
            self.held[key] = a, b, torch.matmul(a, b)  # holding them keeps the identities apart
        return self.held[key][2]
