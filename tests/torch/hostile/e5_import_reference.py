# fixture
# entry: E5
# problem: upsample
# what: imports the task's file
# expect: compile_error/load
# gpu: no
import torch.nn as nn
from reference import Model


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Model()

    def forward(self, x):
        return self.inner(x)
