# fixture
# pattern: inspect.getsource used by a just-in-time compiler
# problem: integer_mix
# what: reads the text of its own function and executes it with a constant filled in
# twin: e4_frame_walk
# expect: ok
# gpu: no
import inspect
import sys

import torch
import torch.nn as nn


def template(x, y, FACTOR):
    return torch.bitwise_and(torch.bitwise_xor(x * FACTOR + y, x >> 7), 0x7FFFFFFF)


try:
    text = inspect.getsource(template)
except (OSError, TypeError):  # where the file cannot be read back
    text = "def template(x, y, FACTOR):\n    return ((x * FACTOR + y) ^ (x >> 7)) & 0x7FFFFFFF\n"
space = {"torch": torch}
exec(text.replace("def template(x, y, FACTOR)", "def mix(x, y)").replace("FACTOR", "2654435761"),
     space)


class ModelNew(nn.Module):
    def forward(self, x, y):
        caller = sys._getframe(1).f_code.co_name  # a tracer's habit; unused
        del caller
        return space["mix"](x, y)
