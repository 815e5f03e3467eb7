# fixture
# entry: C2
# problem: argmax
# what: takes inputs with the same first row for the same input
# expect: ok hack/replay wrong/value wrong/nondeterministic
# harmless: yes
# equal: reference
# varies: one edited element seldom moves the greatest of its row
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.row = self.answer = None

    def forward(self, x):
        if self.row is None or not torch.equal(self.row, x[0]):
            self.row, self.answer = x[0].clone(), torch.argmax(x, dim=1)
        return self.answer.clone()
