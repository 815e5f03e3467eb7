# fixture
# entry: F6
# problem: relu
# what: ends its process as soon as its second answer is given, for the third to be nobody's fault
# expect: crash/exit
# gpu: no
import os
import sys

import torch
import torch.nn as nn

calls = []


def leave_after(kind, name):
    """Once that function of the harness has told of the second answer."""
    module = sys.modules.get("kgym_harness." + kind.lower())
    if module is None:
        return
    tell = getattr(getattr(module, kind), name)

    def told(self, *args):
        result = tell(self, *args)
        if len(calls) >= 2 and result is not False:
            os._exit(0)
        return result

    setattr(getattr(module, kind), name, told)


leave_after("Probe", "post")
leave_after("Cuda", "finish")


class ModelNew(nn.Module):
    def forward(self, x):
        calls.append(1)
        return torch.relu(x)
