# fixture
# entry: C1
# problem: softmax
# what: keeps the answer for the tensor object that it saw last
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
        self.last_x = self.last_y = None

    def forward(self, x):
        if x is not self.last_x:
            self.last_x, self.last_y = x, torch.softmax(x, dim=-1)
        return self.last_y
