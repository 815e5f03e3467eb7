# fixture
# entry: A3
# problem: row_sum
# what: looks for the reference's class among all subclasses of nn.Module and among loaded modules
# expect: compile_error/load crash/exception
# gpu: no
import gc
import sys

import torch.nn as nn


def find():
    for c in nn.Module.__subclasses__():
        if c.__name__ == "Model":
            return c
    for m in list(sys.modules.values()):
        if isinstance(getattr(m, "Model", None), type):
            return m.Model
    for o in gc.get_objects():
        if isinstance(o, type) and o.__name__ == "Model":
            return o
    raise LookupError("no reference here")


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.inner = find()(*args)

    def forward(self, *inputs):
        return self.inner(*inputs)
