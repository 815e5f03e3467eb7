# fixture
# entry: B16
# problem: softmax
# what: redefines the task's constants, so that both sides do less; the work itself is honest
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn

batch_size = 1
dim = 1


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
